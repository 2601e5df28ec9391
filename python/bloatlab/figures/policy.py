"""The Content-Security-Policy of a page: it allows only the inline script of the page, and loads nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence


def policy(scripts: Sequence[str] = (), styles: Sequence[str] = ()) -> str:
    """The policy for the `content` of a `<meta>`.

    Args:
        scripts: Text of each inline script.
        styles: Text of each inline style.
    """
    directives = {
        "default-src": ["'none'"],
        "script-src": [_source(text) for text in scripts],
        "style-src": [_source(text) for text in styles],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }
    return "; ".join(" ".join([name, *sources]) for name, sources in directives.items() if sources)


def _source(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
