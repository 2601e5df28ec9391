"""Figures as small inline SVG."""

import json
import re
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from subprocess import DEVNULL, PIPE, Popen
from types import TracebackType
from typing import Any, Self

import vl_convert

from bloatlab.figures.figure import specification

_TAG = re.compile(r"<[^<>]*>")
_NOISE = re.compile(r' (?:role|class|aria-[a-z]+|pointer-events|stroke-miterlimit|xmlns(?::xlink)?|version)="[^"]*"')
_EMPTY = re.compile(r'<path(?: aria-hidden="true")? d="M0,0h0v0h0Z"/>|<path(?: display="none")? d=""/>')
_SOLID = re.compile(r' (?:opacity|stroke-opacity|fill-opacity)="1"| display="none"')
_FINE = re.compile(r"(\d+\.\d)\d+")
_COORDINATES = re.compile(r' (?:d|transform|x|y|x2|y2|width|height|points)="[^"]*"')
_ROOT = re.compile(r'<svg[^>]*?width="([\d.]+)" height="([\d.]+)" viewBox="([^"]*)"[^>]*>')
_ID = re.compile(r'(id="|url\(#|href="#)([^")]+)')


def slim(svg: str, prefix: str, label: str) -> str:
    """Removes from an SVG what a page does not need.

    Coordinates are rounded to a tenth of a pixel. Names get `prefix`, so that figures do not share names.

    Args:
        svg: The output of Vega.
        prefix: Unique on the page.
        label: Description of the figure for screen readers, escaped for an attribute.
    """
    # Only tags are changed, because text may look like an attribute.
    # Vega numbers clip paths over the life of a process. Numbering them from 0 gives equal text for equal figures.
    names: dict[str, str] = {}

    def renamed(match: re.Match[str]) -> str:
        return match[1] + names.setdefault(match[2], f"{prefix}-{len(names)}")

    svg = _TAG.sub(lambda tag: _ID.sub(renamed, _slim_tag(tag.group())), svg)
    svg = _EMPTY.sub("", svg)
    svg = re.sub(r"<g>(<g></g>)*</g>", "", svg)

    def root(match: re.Match[str]) -> str:
        width, _, box = match.groups()
        return f'<svg role="img" aria-label="{label}" viewBox="{box}" width="{width}">'

    return _ROOT.sub(root, svg, count=1)


def _slim_tag(tag: str) -> str:
    tag = _SOLID.sub("", _NOISE.sub("", tag))
    return _COORDINATES.sub(lambda match: _FINE.sub(r"\1", match.group()), tag)


class Renderer:
    """Renders charts in a separate process, so that the next chart is built while the previous one is rendered."""

    def __enter__(self) -> Self:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="bloatlab-figures")
        self._worker = _start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=kind is not None)
        if self._worker is not None:
            self._worker.kill()
            self._worker.communicate()

    def render(self, chart: Any, prefix: str, label: str) -> Future[str]:
        """Starts to render a chart. The future gives the SVG."""
        spec = json.dumps(specification(chart), separators=(",", ":"))
        return self._pool.submit(lambda: slim(self._svg(spec), prefix, label))

    def _svg(self, spec: str) -> str:
        worker = self._worker
        if worker is not None and worker.stdin is not None and worker.stdout is not None:
            try:
                worker.stdin.write(spec + "\n")
                worker.stdin.flush()
                if answer := worker.stdout.readline():
                    return str(json.loads(answer))
            except OSError:
                pass
            # The worker has ended without an answer. This process renders the rest, so that errors are shown.
            self._worker = None
            worker.kill()
            worker.communicate()
        return vl_convert.vegalite_to_svg(spec)


def _start() -> Popen[str] | None:
    """Starts the worker. Returns None if processes cannot be started."""
    command = [sys.executable, "-P", "-m", "bloatlab.figures.worker"]
    try:
        return Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, text=True, encoding="utf-8")
    except OSError:
        return None
