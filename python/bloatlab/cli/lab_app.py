"""The command `lab`."""

from __future__ import annotations

import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from bloatlab.cli.options import Flag


def lab(
    what: Annotated[Path | None, Parameter(metavar="SCENARIO|RESULTS")] = None,
    /,
    *,
    run: str | None = None,
    seed: int = 42,
    port: int = 0,
    no_browser: Flag = False,
) -> int:
    """Opens the lab, a simulation in a browser tab (docs/lab.md).

    You watch the simulation and change it while it runs. It is served on this machine only, at an address with a token.
    Ctrl-C ends it.

    Args:
        what: A scenario (TOML or JSON) or a results directory to open [default: a home link with a deep buffer].
        run: First digits of the run_id of the run to open [default: the first run].
        seed: Seed of a scenario. A run of a results directory has its own.
        port: The port [default: a free one].
        no_browser: Only print the address.
    """
    from bloatlab.errors import ParameterError
    from bloatlab.lab import Server, built, fragment

    if not built():
        raise ParameterError("lab: this installation has no lab; in a clone of the repository, `make lab` builds it")
    opened = "" if what is None else "#" + fragment(*_scenario(what, run, seed))
    try:
        server = Server(port=port)
    except OSError as error:
        raise ParameterError(f"--port {port}: {error.strerror or error}") from error
    with server:
        print(f"{server.url}{opened}", flush=True)
        if not no_browser:
            webbrowser.open(f"{server.url}{opened}")
        try:
            server.serve()
        except KeyboardInterrupt:
            return 0
    return 0


def _scenario(what: Path, run: str | None, seed: int) -> tuple[Mapping[str, Any], int]:
    """The document and the seed to open."""
    import json

    from bloatlab import language
    from bloatlab.errors import ParameterError
    from bloatlab.scenario.read import read
    from bloatlab.store import Store

    if not what.is_dir():
        if run is not None:
            raise ParameterError("--run: is for a results directory")
        return json.loads(language.normalise(json.dumps({"name": what.stem, **read(what)}))), seed
    store = Store(what)
    first = store.runs().filter(status="done")["run_id"].head(1).to_list()
    if run is None and not first:
        raise ParameterError(f"{what}: holds no finished run to open; `bloatlab runs {what}` lists its runs")
    found = store.run(run or first[0])
    return found.scenario, found.seed
