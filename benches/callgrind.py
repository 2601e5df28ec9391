"""Instructions per bottleneck packet, in total and by function, counted by valgrind's callgrind.

Counts do not depend on the load of the machine. Only `run` of the engine is counted, without start-up and reading JSON.
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
"""Shorter than in `make bench`, because a run takes about fifty times as long under callgrind."""

FUNCTION = re.compile(r"\s*(?:pub(?:\([^)]*\))? )?(?:const )?fn (\w+)")
NAME = re.compile(r"\((\d+)\)(?: (.*))?")


@dataclass
class Profile:
    """Instructions by source line, and by compiled function with everything that it calls."""

    total: int = 0
    by_line: Counter[tuple[str, int]] = field(default_factory=Counter)
    inclusive: Counter[str] = field(default_factory=Counter)

    def by_source(self) -> Counter[str]:
        """Instructions of each source function, including its inlined copies."""
        found: Counter[str] = Counter()
        for (file, line), instructions in self.by_line.items():
            found[source_function(file, line)] += instructions
        return found


def read_profile(path: Path) -> Profile:
    """Reads callgrind's output. Inlined code names its source file (`fi=`), so it counts for the function it was written in."""
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
                # Recursive calls of a function (`name'2`) are already in the count of the outermost call.
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
    """`file: function` for code of this project, and the file name for libraries."""
    path = Path(file)
    if "/library/" in file:
        return f"std {file.rpartition('/library/')[2]}"
    if "crates/" not in file:
        return file.rpartition("/")[2]
    shown = file.rpartition("crates/")[2].replace("/src/", "/")
    return f"{shown}: {enclosing(path, line)}"


def enclosing(path: Path, line: int) -> str:
    """The function of a line: the last function that begins at or before it."""
    return next((name for begins, name in reversed(beginnings(path)) if begins <= line), "")


@cache
def beginnings(path: Path) -> tuple[tuple[int, str], ...]:
    """First line and name of each function of a file."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return ()
    found = ((number, FUNCTION.match(text)) for number, text in enumerate(lines, 1))
    return tuple((number, match[1]) for number, match in found if match is not None)


def example() -> Path:
    """Builds the example that runs a scenario, in release mode, and returns its path."""
    command = ["cargo", "build", "--quiet", "--release", "-p", "bloatlab-sim", "--example", "run"]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        sys.exit("callgrind: the example does not build")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / "run"


def count(binary: Path, name: str, duration: str) -> tuple[Profile, int]:
    """Returns the profile of one scenario and its number of packets through the bottleneck."""
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
    """Prints the tables of one scenario."""
    each = profile.total / packets
    console.print(f"[bold]{name}[/bold]: {each:.0f} instructions per bottleneck packet ({packets} packets)")
    for title, counts in (
        ("source function, with inlined copies", profile.by_source()),
        ("compiled function, with its calls", below_run(profile)),
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
    """Inclusive counts of functions below `run`. Names omit the common prefix of the crates."""
    return Counter({f.replace("bloatlab_", ""): n for f, n in profile.inclusive.items() if n < profile.total})


def main() -> None:
    """Profiles the chosen scenarios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=sorted(DURATIONS), default=sorted(DURATIONS))
    parser.add_argument("--duration", help="simulated time, such as 5s")
    parser.add_argument("--top", type=int, default=15, help="number of functions to show")
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
