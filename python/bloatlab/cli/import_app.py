"""`import`. `cli/exchange.py` implements it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from bloatlab.cli.options import Results


def import_(
    *files: Path,
    out: Results = None,
    name: str | None = None,
    format_: Annotated[str | None, Parameter(name="--format", metavar="FORMAT")] = None,
    beside: Annotated[str | None, Parameter(metavar="RUN")] = None,
) -> None:
    """Stores files of measuring tools as runs, whose engine is the tool.

    Reads files of flent, irtt, crusader, iperf3 (-J), networkQuality (-c) and the LENS data set (docs/import-export.md).
    The same file is stored once.

    Args:
        files: The files.
        out: Results directory, or its URL [default: results/NAME].
        name: Name of the runs' experiment [default: the tool and the test, such as flent-rrul].
        format_: Format of the files: flent, irtt, crusader, iperf3, network-quality or lens [default: their contents
            tell it].
        beside: First digits of the run_id of a run of the results directory that simulates what was measured. The
            measurement becomes another run of its scenario, so that `bloatlab compare DIR --by engine` shows both.
    """
    from bloatlab.cli.exchange import import_files

    import_files(files, out, name, format_, beside)
