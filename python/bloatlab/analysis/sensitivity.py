"""Sensitivity of metrics to the varied inputs: Sobol's indices or Morris' elementary effects, computed by SALib.

The runs are a sweep into a results directory, so the same call resumes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from bloatlab.analysis.readings import Reading
from bloatlab.analysis.space import Vary
from bloatlab.errors import ParameterError, StoreError
from bloatlab.store.keep import Keep
from bloatlab.sweeps import PlannedRun, Source, plan_points

Method = Literal["sobol", "morris"]
SAMPLES: Mapping[str, int] = {"sobol": 64, "morris": 20}
"""Default number of base samples (Sobol) or trajectories (Morris)."""
LEVELS = 4
"""Levels of Morris' grid: Morris 1991 and Saltelli et al. 2004 take four."""
RESAMPLES = 1000
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Index:
    """Effect of one input on a metric; `None` if the metric does not vary."""

    name: str
    first: float | None
    """Sobol: S1, the share of the variance that it explains alone. Morris: mu*, the mean size of its effect."""
    first_half_width: float | None
    """Half-width of the bootstrap confidence interval of `first`."""
    total: float | None
    """Sobol: ST, its share including all interactions. Morris: sigma, the standard deviation of its effect."""
    total_half_width: float | None
    """Half-width of the interval of `total`; `None` with Morris."""
    mean: float | None = None
    """Morris: mu, the mean of its effect with its sign."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The indices of one metric."""

    metric: str
    unit: str
    low: float
    """Smallest value over the samples."""
    high: float
    indices: Sequence[Index]


@dataclass(frozen=True)
class Design:
    """The samples of a method: which points are run."""

    method: Method
    varied: Sequence[Vary]
    samples: int
    seed: int
    shares: Any
    """Array of samples x inputs, each from 0 to 1."""
    levels: int = LEVELS

    @property
    def problem(self) -> dict[str, Any]:
        """The problem for SALib; every input ranges from 0 to 1."""
        names = [of.name for of in self.varied]
        return {"num_vars": len(names), "names": names, "bounds": [[0.0, 1.0]] * len(names)}

    def points(self) -> list[dict[str, Any]]:
        """The values that each sample sets."""
        return [
            {of.name: of.at(float(share)) for of, share in zip(self.varied, row, strict=True)} for row in self.shares
        ]


def design(varied: Sequence[Vary], method: Method = "sobol", samples: int | None = None, seed: int = 42) -> Design:
    """The samples of a method.

    Args:
        varied: The inputs, at least two.
        method: `sobol`: Saltelli's sample over Sobol's sequence, N (D + 2) points (Saltelli et al. 2010); `morris`: N
            trajectories of D + 1 points (Morris 1991).
        samples: N; absent: 64 or 20.
        seed: Seed of the scrambling of the sequence, or of the trajectories.

    Raises:
        ParameterError: Fewer than two inputs, or a number of samples that the method does not take.
    """
    if len(varied) < 2:
        raise ParameterError("--vary: give at least two inputs, because indices compare inputs with each other")
    count = SAMPLES[method] if samples is None else samples
    if count < 2:
        raise ParameterError(f"samples: must be at least 2, not {count}")
    if method == "sobol" and count & (count - 1):
        lower = 1 << (count.bit_length() - 1)
        raise ParameterError(
            f"samples: Sobol's sequence needs a power of 2, such as {lower} or {2 * lower}, not {count}"
        )
    most = max(len(of.values) for of in varied)
    made = Design(method, list(varied), count, seed, None, max(LEVELS, most + most % 2))
    if method == "sobol":
        from SALib.sample.sobol import sample

        shares = sample(made.problem, count, calc_second_order=False, seed=seed)
    else:
        from SALib.sample.morris import sample as trajectories

        shares = trajectories(made.problem, count, num_levels=made.levels, seed=seed)
    return Design(method, list(varied), count, seed, shares, made.levels)


@dataclass(frozen=True)
class Sampled:
    """A design as runs."""

    runs: list[PlannedRun]
    """Each once."""
    of_sample: list[list[str]] = field(default_factory=list)
    """Run identities of the replications of each sample."""


def runs_of(source: Source, base: Mapping[str, Any], made: Design, *, replications: int = 1, seed: int = 42) -> Sampled:
    """The runs of a design.

    Raises:
        ParameterError: A value is not allowed, or something is both set and varied.
        ScenarioError: The engine refuses a scenario.
    """
    for of in made.varied:
        if of.name in base:
            raise ParameterError(f"{of.name}: is both set and varied")
    known: dict[str, PlannedRun] = {}
    of_sample = []
    for point in made.points():
        planned = plan_points(source, [point], base, replications=replications, seed=seed, keep=Keep.METRICS)
        known |= {run.run_id: run for run in planned}
        of_sample.append([run.run_id for run in planned])
    return Sampled(list(known.values()), of_sample)


def analyse(made: Design, values: Sequence[float], reading: Reading) -> Sensitivity:
    """The indices of a metric from its value at each sample."""
    import numpy as np

    found = np.array(values, dtype=float)
    low, high = float(found.min()), float(found.max())
    if low == high:
        indices = [Index(of.name, None, None, None, None) for of in made.varied]
    elif made.method == "sobol":
        indices = _sobol(made, found)
    else:
        indices = _morris(made, found)
    return Sensitivity(reading.text, reading.unit, low, high, indices)


def _sobol(made: Design, values: Any) -> list[Index]:
    from SALib.analyze.sobol import analyze

    found = analyze(
        made.problem,
        values,
        calc_second_order=False,
        num_resamples=RESAMPLES,
        conf_level=CONFIDENCE,
        seed=made.seed,
    )
    columns = (found[name] for name in ("S1", "S1_conf", "ST", "ST_conf"))
    rows = zip(made.varied, *columns, strict=True)
    return [Index(of.name, *(_finite(value) for value in row)) for of, *row in rows]


def _morris(made: Design, values: Any) -> list[Index]:
    from SALib.analyze.morris import analyze

    found = analyze(
        made.problem,
        made.shares,
        values,
        num_resamples=RESAMPLES,
        conf_level=CONFIDENCE,
        num_levels=made.levels,
        seed=made.seed,
    )
    columns = (found[name] for name in ("mu_star", "mu_star_conf", "sigma", "mu"))
    rows = zip(made.varied, *columns, strict=True)
    return [
        Index(of.name, _finite(star), _finite(half), _finite(sigma), None, _finite(mean))
        for of, star, half, sigma, mean in rows
    ]


def _finite(value: float) -> float | None:
    import math

    return float(value) if math.isfinite(value) else None


def values_of(sampled: Sampled, metrics: Mapping[str, Mapping[str, Any]], reading: Reading) -> list[float]:
    """Value of a metric at each sample: the mean over its replications.

    Raises:
        StoreError: A run lacks the metric.
    """
    by_run: dict[str, float] = {}
    for run in sampled.runs:
        value = reading.of(metrics[run.run_id])
        if value is None:
            raise StoreError(f"run {run.run_id} has no `{reading.text}`, so no sensitivity can be computed for it")
        by_run[run.run_id] = value
    return [sum(by_run[run_id] for run_id in ids) / len(ids) for ids in sampled.of_sample]


def describe(made: Design, found: Sequence[Sensitivity], runs: int) -> dict[str, Any]:
    """The result in the form of `--json` and of the file."""
    return {
        "method": made.method,
        "samples": made.samples,
        "seed": made.seed,
        "runs": runs,
        "confidence": CONFIDENCE,
        "varied": [{"name": of.name, "range": of.text, "log": of.log} for of in made.varied],
        "metrics": [asdict(of) for of in found],
    }
