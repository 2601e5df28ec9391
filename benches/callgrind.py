"""Instructions per bottleneck packet, and which code they are spent in, under valgrind's callgrind.

Counts do not depend on how busy the machine is. Only the engine's `run` is counted: not start-up, not reading JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = Path(__file__).resolve().parent / "scenarios"
DURATIONS = {"p1": "20s", "p2": "2s", "p3": "2s"}
"""Shorter than in the timing: under callgrind a run takes about fifty times as long."""

FUNCTION = re.compile(r"\s*(?:pub(?:\([^)]*\))? )?(?:const )?fn (\w+)")
NAME = re.compile(r"\((\d+)\)(?: (.*))?")


@dataclass
class Profile:
    """Instructions by where they were written and by the compiled function that was called."""

    total: int = 0
    by_line: Counter[tuple[str, int]] = field(default_factory=Counter)
    inclusive: Counter[str] = field(default_factory=Counter)

    def by_source(self) -> Counter[str]:
        """Instructions of each source function, wherever the compiler inlined it."""
        found: Counter[str] = Counter()
        for (file, line), instructions in self.by_line.items():
            found[source_function(file, line)] += instructions
        return found


def read_profile(path: Path) -> Profile:
    """Reads callgrind's file: inlined code keeps its own file (`fi=`), so it is counted where it was written."""
    profile = Profile()
    files: dict[str, str] = {}
    functions: dict[str, str] = {}
    file, callee, line, call = "", "", 0, False

    def name(known: dict[str, str], text: str) -> str:
        found = NAME.match(text)
        if found is None:
            return text
        if found[2] is not None:
            known[found[1]] = found[2]
        return known[found[1]]

    for text in path.read_text().splitlines():
        key, equals, value = text.partition("=")
        if text[:1] in set("+-*0123456789"):
            place, _, cost = text.partition(" ")
            line = line if place == "*" else line + int(place) if place[0] in "+-" else int(place)
            if call:
                call = False
                # A deeper call of the same function (`name'2`) is in the outermost one's count already.
                profile.inclusive[callee] += int(cost)
            else:
                profile.total += int(cost or 0)
                profile.by_line[file, line] += int(cost or 0)
        elif not equals:
            continue
        elif key in ("fl", "fi", "fe"):
            file = name(files, value)
        elif key in ("cfi", "cfl"):
            name(files, value)
        elif key == "fn":
            name(functions, value)
        elif key == "cfn":
            callee = name(functions, value)
        elif key == "calls":
            call = True
    return profile


def source_function(file: str, line: int) -> str:
    """`file: function` in this project; what stands above it (a library's file) elsewhere."""
    path = Path(file)
    if "/library/" in file:
        return f"std {file.rpartition('/library/')[2]}"
    if "crates/" not in file:
        return file.rpartition("/")[2]
    shown = file.rpartition("crates/")[2].replace("/src/", "/")
    return f"{shown}: {enclosing(path, line)}"


def enclosing(path: Path, line: int) -> str:
    """The function that the line is in: the last one that begins at or before it."""
    return next((name for begins, name in reversed(beginnings(path)) if begins <= line), "")


@cache
def beginnings(path: Path) -> tuple[tuple[int, str], ...]:
    """Line and name of each function of a file."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return ()
    found = ((number, FUNCTION.match(text)) for number, text in enumerate(lines, 1))
    return tuple((number, match[1]) for number, match in found if match is not None)


def example() -> Path:
    """Builds the release example that runs a scenario, and says where it is."""
    command = ["cargo", "build", "--quiet", "--release", "-p", "bloatlab-sim", "--example", "run"]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        sys.exit("callgrind: the example does not build")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / "run"


def count(binary: Path, name: str, duration: str) -> tuple[Profile, int]:
    """The profile of one scenario and its packets through the bottleneck."""
    with tempfile.TemporaryDirectory() as directory:
        scenario, out = Path(directory) / f"{name}.json", Path(directory) / "callgrind.out"
        document = json.loads((SCENARIOS / f"{name}.json").read_text()) | {"duration": duration}
        scenario.write_text(json.dumps(document))
        tool = ["valgrind", "--tool=callgrind", "--toggle-collect=bloatlab_sim::run", f"--callgrind-out-file={out}"]
        done = subprocess.run([*tool, binary, scenario], capture_output=True, text=True, check=False)
        packets = re.search(r"^events \d+ packets (\d+)", done.stdout, re.MULTILINE)
        if done.returncode or packets is None:
            raise SystemExit(f"callgrind: {name} failed: {done.stderr.strip()[-400:]}")
        return read_profile(out), int(packets[1])


def show(console: Console, name: str, profile: Profile, packets: int, top: int, lines: bool) -> None:
    """The table of one scenario."""
    each = profile.total / packets
    console.print(f"[bold]{name}[/bold]: {each:.0f} instructions per bottleneck packet ({packets} packets)")
    for title, counts in (
        ("spent in (source function, inlined or not)", profile.by_source()),
        ("spent in and below (compiled function)", below_run(profile)),
    ):
        table = Table("per packet", "share", title, title_justify="left")
        for function, instructions in counts.most_common(top):
            table.add_row(f"{instructions / packets:.1f}", f"{instructions / profile.total:.1%}", function)
        console.print(table)
    if lines:
        table = Table("per packet", "line")
        for (file, line), instructions in profile.by_line.most_common(3 * top):
            table.add_row(f"{instructions / packets:.1f}", f"{file.rpartition('crates/')[2][-70:]}:{line}")
        console.print(table)


def below_run(profile: Profile) -> Counter[str]:
    """Inclusive counts without what only leads to `run`, names without the crates' common beginning."""
    return Counter({f.replace("bloatlab_", ""): n for f, n in profile.inclusive.items() if n < profile.total})


def main() -> None:
    """Counts the scenarios asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=sorted(DURATIONS), default=sorted(DURATIONS))
    parser.add_argument("--duration", help="simulated time instead of the scenario's own, such as 5s")
    parser.add_argument("--top", type=int, default=15, help="functions to show")
    parser.add_argument("--lines", action="store_true", help="also show the lines with most instructions")
    given = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("callgrind: valgrind is not installed (Debian, Ubuntu: apt install valgrind)")
    console = Console(width=None if sys.stdout.isatty() else 120)
    binary = example()
    for name in given.only:
        profile, packets = count(binary, name, given.duration or DURATIONS[name])
        show(console, name, profile, packets, given.top, given.lines)


if __name__ == "__main__":
    main()
