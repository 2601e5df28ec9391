"""Vega, Vega-Lite and Vega-Embed as one script, which a page carries so that it opens offline."""

from __future__ import annotations

import contextlib
from functools import cache
from importlib.metadata import version
from pathlib import Path
from tempfile import NamedTemporaryFile

from bloatlab.cache import cache_directory

_SNIPPET = "window.vegaEmbed = vegaEmbed;"
_END = "/* the end */"
"""A file without this end was cut off."""


@cache
def script() -> str:
    """The script, which defines `vegaEmbed`.

    vl-convert takes a second to put it together, so it is kept in the user's cache (`BLOATLAB_CACHE`), one file per version
    of vl-convert. A cache that cannot be written costs this second each time.
    """
    path = cache_directory() / f"vega-{version('vl-convert-python')}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if (text := path.read_text(encoding="utf-8")).endswith(_END):
            return text
    import vl_convert

    text = f"{vl_convert.javascript_bundle(_SNIPPET)}{_END}"
    with contextlib.suppress(OSError):
        _keep(path, text)
    return text


def _keep(path: Path, text: str) -> None:
    """Writes the file completely or not at all: other processes may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}", delete=False) as temporary:
        try:
            temporary.write(text)
            temporary.close()
            Path(temporary.name).replace(path)
        except OSError:
            Path(temporary.name).unlink(missing_ok=True)
            raise
