"""`--dry-run`: the runs of a plan and an estimate of their cost. Stores nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from bloatlab.cli.console import console, counted, duration, progress_bar, say
from bloatlab.cli.options import Output
from bloatlab.settings import RunSettings
from bloatlab.store import Keep
from bloatlab.sweeps import Standing
from bloatlab.sweeps.estimate import Estimate, NoEstimateError, estimate
from bloatlab.sweeps.preview import Preview
from bloatlab.visible import one_line

SAMPLES = 3
UNITS = ("B", "kB", "MB", "GB", "TB")


def show_plan(
    name: str, preview: Preview, swept: Sequence[str], keep: Keep, output: Output, settings: RunSettings
) -> int:
    """Prints the number of runs, the first points and the estimate. Returns the exit code.

    Args:
        name: Of the experiment or scenario.
        preview: The runs.
        swept: The swept parameters.
        keep: How much is kept of each run.
        output: What is printed.
        settings: How runs would be made.
    """
    found, why = _estimated(preview, output, settings)
    if output.json:
        _print_json(name, preview, swept, found, why)
        return 0
    out = console()
    about = "" if preview.exact else "about "
    kept = keep.name.lower()
    runs, points = counted(preview.total, "run"), counted(preview.points, "point")
    say(out, f"{name}: {about}{runs}, {about}{points}; {kept} are kept of each run")
    for parameters in preview.first:
        say(out, "  " + _point(parameters, swept), "    ")
    if preview.points > len(preview.first):
        say(out, f"  and {about}{preview.points - len(preview.first):,} more")
    if found is None:
        say(out, f"no estimate: {why}")
    else:
        for line in estimate_lines(found, keep, cluster=settings.scheduler is not None):
            say(out, line, "        ")
    return 0


def _estimated(preview: Preview, output: Output, settings: RunSettings) -> tuple[Estimate | None, str]:
    """The estimate; without one, why there is none."""
    with progress_bar(SAMPLES, "sampled runs", quiet=output.json, silent=output.quiet) as tell:

        def ended(count: float) -> None:
            if tell is not None:
                tell(Standing(count, 0))

        try:
            return estimate(preview, settings, ended), ""
        except NoEstimateError as error:
            return None, str(error)


def estimate_lines(found: Estimate, keep: Keep, *, cluster: bool = False) -> list[str]:
    """The estimate in words.

    Args:
        found: The estimate.
        keep: How much is kept of each run.
        cluster: The runs would be made on a cluster of unknown size.
    """
    likely, low, high = map(time_of, found.wall_s)
    seconds = ", ".join(time_of(sample.wall_s) for sample in found.samples)
    threads = f"{found.jobs} thread{'s' * (found.jobs != 1)}"
    where = "in all, divided by the threads of the cluster" if cluster else f"with {threads}"
    levels = [f"{level.name.lower()} {size(of)}{' (chosen)' * (level == keep)}" for level, of in found.disk.items()]
    many = "1 sampled run" if len(found.samples) == 1 else f"{len(found.samples)} sampled runs"
    return [
        f"estimate from {many} ({seconds}), which are not stored; without the page:",
        f"time    {likely} {where}, {low} to {high}",
        f"memory  {size(found.memory)}",
        f"disk    {', '.join(levels)}",
    ]


def time_of(seconds: float) -> str:
    """Seconds with two significant digits below ten, then as `duration`."""
    return f"{seconds:.2g} s" if seconds < 9.95 else duration(seconds)


def size(count: float) -> str:
    """A number of bytes with two significant digits, such as `1.2 MB`."""
    place = 0
    while count >= 999.5 and place < len(UNITS) - 1:
        count /= 1000
        place += 1
    return f"{count:.0f} {UNITS[place]}" if count >= 9.95 or place == 0 else f"{count:.1f} {UNITS[place]}"


def _point(parameters: Any, swept: Sequence[str]) -> str:
    return one_line(", ".join(f"{key}={parameters.get(key)}" for key in swept)) or "one point"


def _print_json(name: str, preview: Preview, swept: Sequence[str], found: Estimate | None, why: str) -> None:
    described: dict[str, Any] = {
        "experiment": name,
        "runs": preview.total,
        "points": preview.points,
        "exact": preview.exact,
        "first": [{key: parameters.get(key) for key in swept} for parameters in preview.first],
        "estimate": None,
    }
    if found is None:
        described["no_estimate"] = why
    else:
        likely, low, high = found.wall_s
        described["estimate"] = {
            "wall_s": likely,
            "wall_s_low": low,
            "wall_s_high": high,
            "jobs": found.jobs,
            "memory_bytes": found.memory,
            "disk_bytes": {level.name.lower(): of for level, of in found.disk.items()},
            "sampled_wall_s": [sample.wall_s for sample in found.samples],
        }
    sys.stdout.write(json.dumps(described) + "\n")
