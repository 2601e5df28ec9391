"""A figure as an HTML page with tooltips: one file that works offline and runs only Vega's code."""

import json
from functools import cache
from typing import Any

from bloatlab.figures.policy import policy

_TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="bloatlab">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>bloatlab</title>
</head>
<body>
<div id="figure"></div>
<script type="application/json" id="specification">{specification}</script>
<script>{script}</script>
</body>
</html>
"""
# Vega's interpreter (`ast`) needs no `eval`, which the policy forbids.
_DRAW = (
    'vegaEmbed("#figure", JSON.parse(document.getElementById("specification").textContent), '
    '{ast: true, actions: false, renderer: "svg"});'
)


def page(specification: dict[str, Any]) -> str:
    """The page of a Vega-Lite specification."""
    # In a script element only `</script` and `<!--` have a meaning. JSON can write both without `<`.
    text = json.dumps(specification, separators=(",", ":")).replace("<", "\\u003c")
    # Vega's tooltip adds a style element. The policy keeps styles from loading anything.
    allowed = f"{policy([_script()])}; style-src 'unsafe-inline'"
    return _TEMPLATE.format(policy=allowed, specification=text, script=_script())


@cache
def _script() -> str:
    """Vega, Vega-Lite and Vega-Embed with the call that draws the figure."""
    import vl_convert

    return str(vl_convert.javascript_bundle(_DRAW))
