"""The notebooks of the documentation run from a fresh kernel, and show what their text says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbclient is not installed (bloatlab[dev])")
pytest.importorskip("nbclient", reason="nbclient is not installed (bloatlab[dev])")
pytest.importorskip("ipykernel", reason="ipykernel is not installed (bloatlab[dev])")

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_site"))


@pytest.mark.parametrize("path", sorted((DOCS / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_figures_and_tables(path: Path) -> None:
    from notebooks import executed, markdown

    notebook = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "store notebooks without outputs"
    page = markdown(executed(path))
    assert page.startswith("# ")
    assert "<svg" in page
    assert "Traceback" not in page
