"""Executes the notebooks of the documentation, and writes them as pages of the site.

The site shows what each cell prints when the site is built, so nothing that a notebook shows is old. Text and HTML are enough,
and no script is loaded from another host, as the usual converters do.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
SECONDS = 300
"""Longest time for a cell."""
# Altair's usual output loads scripts from another host.
PLAIN_CHARTS = "--IPKernelApp.exec_lines=import altair; altair.renderers.enable('svg')"


class LocalKernel(AsyncKernelManager):  # type: ignore[misc]
    """A kernel that no other user of the machine can reach."""

    transport = "ipc"


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of its cells. A cell that fails raises `CellExecutionError`."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        kernel_manager_class=LocalKernel,
        extra_arguments=[PLAIN_CHARTS],
    ).execute()
    return notebook


@cache
def pages() -> tuple[tuple[str, str], ...]:
    """Name and Markdown of the page of each notebook."""
    return tuple((f"{path.stem}.md", markdown(executed(path))) for path in sorted(NOTEBOOKS.glob("*.ipynb")))


def markdown(notebook: nbformat.NotebookNode) -> str:
    """The page of an executed notebook."""
    return "\n\n".join(part for cell in notebook.cells for part in _cell(cell)) + "\n"


def _cell(cell: nbformat.NotebookNode) -> Iterator[str]:
    if cell.cell_type == "markdown":
        yield cell.source
        return
    yield _block("python", cell.source)
    for output in cell.outputs:
        if output.output_type == "stream":
            yield _block("text", output.text)
        elif html := output.get("data", {}).get("image/svg+xml") or output.get("data", {}).get("text/html"):
            yield _html(html)
        elif text := output.get("data", {}).get("text/plain"):
            yield _block("text", text)


def _html(text: str) -> str:
    """A block of HTML, which Markdown leaves alone up to the first empty line."""
    return '<div class="output">' + " ".join(line for line in text.splitlines() if line.strip()) + "</div>"


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"
