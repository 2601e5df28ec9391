"""`import`, and `export` to files of other tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from bloatlab.errors import ParameterError, StoreError

if TYPE_CHECKING:
    from bloatlab.store.remote import Place

_Run = Annotated[str | None, Parameter(metavar="RUN")]


@Parameter(name="*")
@dataclass(frozen=True)
class ToolFile:
    """Options of `export` that write one run as the file of another tool. Each takes the first digits of a run_id."""

    flent: _Run = None
    """Write this run as Flent's data file."""
    irtt: _Run = None
    """Write the pings of this run as irtt's JSON."""
    crusader: _Run = None
    """Write this run as Crusader's JSON."""
    lens: _Run = None
    """Write the pings of this run as a CSV file of the LENS data set."""
    qlog: _Run = None
    """Write the congestion control of this run as qlog."""
    network_quality: _Run = None
    """Write a summary of this run as networkQuality's JSON."""

    @property
    def chosen(self) -> tuple[str, str] | None:
        """The format and the run. `None` if no option is given.

        Raises:
            ParameterError: Several are given.
        """
        given = [(one.name.replace("_", "-"), value) for one in fields(self) if (value := getattr(self, one.name))]
        if len(given) > 1:
            raise ParameterError(f"export: give one of --{given[0][0]} and --{given[1][0]}")
        return given[0] if given else None


NO_TOOL_FILE = ToolFile()


def export_file(
    place: Place, form: str, run_id: str, out: Path | None, *, engine: str | None = None, allow_plugins: bool = False
) -> Path:
    """Writes a run as the file of another tool. Does not overwrite a file.

    Args:
        place: Results directory, or its URL.
        form: Name of the format.
        run_id: The run. The first digits are enough.
        out: The file; absent: the run's identity with the usual ending, in the working directory.
        engine: Engine that makes the run again, if packets are needed and it is not built in.
        allow_plugins: Import the plugins that the run names, if it is made again.
    """
    from bloatlab.exchange.formats import FORMATS
    from bloatlab.exchange.stored import measurement
    from bloatlab.loading import AllowedPlugins
    from bloatlab.store import Store

    to = FORMATS[form]
    store = Store(place)
    plugins = AllowedPlugins(all=allow_plugins)
    found = measurement(store, run_id, exact=to.exact, plugins=plugins, engine=engine)
    data = to.write(found)
    path = out if out is not None else Path(f"{store.find(run_id)['run_id']}{to.ending}")
    try:
        with path.open("xb") as file:
            file.write(data)
    except FileExistsError as error:
        raise StoreError(f"{path}: exists, and is not overwritten; choose another --out") from error
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    return path


def import_files(
    paths: Sequence[Path], out: Place | None, name: str | None, form: str | None, beside: str | None
) -> None:
    """Stores files of other tools as runs, and prints what became of each."""
    from bloatlab.cli.run import command_line
    from bloatlab.exchange import formats, importing

    if not paths:
        raise ParameterError("import: give at least one FILE")
    if out is None:
        if beside is not None:
            raise ParameterError("import: --beside needs --out, the results directory of that run")
        first, _ = formats.read(paths[0], form)
        out = Path("results") / (name or f"{first.tool}-{first.name}").replace("/", "-")
    for one in importing.store(paths, out, name=name, form=form, beside=beside, command=command_line()):
        print(f"{one.path}: {'run' if one.is_new else 'is stored already as run'} {one.run_id} of {one.tool} in {out}")
