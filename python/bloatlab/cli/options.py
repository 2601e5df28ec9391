"""The options that commands share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, Token


def _place(_: object, tokens: Sequence[Token]) -> Path | str:
    from bloatlab.store.remote.location import place

    return place(tokens[0].value)


Set = Annotated[list[str], Parameter(name="--set", negative=(), show_default=False, metavar="KEY=VALUE")]
Sweep = Annotated[list[str], Parameter(name="--sweep", negative=(), show_default=False, metavar="KEY=V1,V2")]
Out = Annotated[Path | None, Parameter(name=["--out", "-o"])]
Results = Annotated[Path | str | None, Parameter(name=["--out", "-o"], converter=_place, metavar="DIR|URL")]
Stored = Annotated[Path | str, Parameter(converter=_place, metavar="DIRECTORY")]
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
Jobs = Annotated[int | None, Parameter(name=["--jobs", "-j"])]
Scheduler = Annotated[str | None, Parameter(show_default=False, metavar="ADDRESS")]
Memory = Annotated[str | None, Parameter(show_default=False, metavar="SIZE")]
AllowPlugins = Annotated[bool, Parameter(name="--allow-plugins", negative=(), show_default=False)]
Traces = Annotated[Path | None, Parameter(show_default=False, metavar="DIR")]


def allow_memory(memory: str | None) -> None:
    """Lets each run of this process take as much memory; the engine reads the variable."""
    if memory is not None:
        os.environ["BLOATLAB_MEMORY"] = memory


def with_traces(set_: Sequence[str], traces: Path | None) -> list[str]:
    """What is set, with the directory of traces among it."""
    return [*set_, *([f"traces={traces}"] if traces is not None else [])]
