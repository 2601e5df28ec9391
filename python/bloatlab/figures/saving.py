"""Saves a chart; the extension of the file's name selects the format."""

import json
from pathlib import Path
from typing import Any

from bloatlab.figures import html_page
from bloatlab.figures.figure import specification

FORMATS = (".svg", ".png", ".pdf", ".html", ".json")


def save(chart: Any, path: str | Path) -> Path:
    """Saves a chart as SVG, PNG (scale 2), PDF, HTML (one file that works offline) or JSON (Vega-Lite).

    Args:
        chart: An Altair chart.
        path: File to write; its extension selects the format.

    Returns:
        The path.

    Raises:
        ValueError: The extension is unknown.
        OSError: The file cannot be written.
    """
    import vl_convert

    path = Path(path)
    kind = path.suffix.lower()
    if kind not in FORMATS:
        raise ValueError(f"{path.name}: a figure's name must end in {', '.join(FORMATS)}")
    spec = specification(chart)
    if kind == ".json":
        path.write_text(json.dumps(spec, separators=(",", ":")) + "\n", encoding="utf-8")
    elif kind == ".svg":
        path.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
    elif kind == ".html":
        path.write_text(html_page.page(spec), encoding="utf-8")
    elif kind == ".pdf":
        path.write_bytes(vl_convert.vegalite_to_pdf(on_white(spec)))
    else:
        path.write_bytes(vl_convert.vegalite_to_png(on_white(spec), scale=2))
    return path


def on_white(spec: dict[str, Any]) -> dict[str, Any]:
    """The specification with a white background, for formats that viewers show on black."""
    return {**spec, "config": {**spec.get("config", {}), "background": "white"}}
