"""The options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

Set = Annotated[list[str], Parameter(name="--set", negative=(), show_default=False, metavar="KEY=VALUE")]
Sweep = Annotated[list[str], Parameter(name="--sweep", negative=(), show_default=False, metavar="KEY=V1,V2")]
Out = Annotated[Path | None, Parameter(name=["--out", "-o"])]
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
