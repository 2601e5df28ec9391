"""A figure as an HTML page with tooltips: one file that works offline and runs only Vega's code."""

import json
from typing import Any

from bloatlab.figures import bundle
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
<script>{vega}</script>
<script>{draw}</script>
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
    vega = bundle.script()
    # Vega's tooltip adds a style element. The policy keeps styles from loading anything.
    allowed = f"{policy([vega, _DRAW])}; style-src 'unsafe-inline'"
    return _TEMPLATE.format(policy=allowed, specification=in_script(specification), vega=vega, draw=_DRAW)


def in_script(value: Any) -> str:
    """JSON for a script element, in which only `</script` and `<!--` have a meaning: it has no `<`."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
