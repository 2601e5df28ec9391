"""Stores a measurement as a run, whose engine is the tool that measured."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bloatlab.errors import ParameterError
from bloatlab.exchange import formats, outcome
from bloatlab.exchange.beside import named_as_in
from bloatlab.exchange.measurement import Measurement
from bloatlab.exchange.stored import MEASURED
from bloatlab.experiments import CATALOGUE
from bloatlab.metrics import units
from bloatlab.store import RunRecord, Store, Writer, canonical
from bloatlab.store.identity import run_id

if TYPE_CHECKING:
    from bloatlab.store.remote import Place


@dataclass(frozen=True)
class Imported:
    """A file that was read, and its run."""

    path: Path
    tool: str
    run_id: str
    is_new: bool
    """Whether the run was not in the store before."""


def store(
    paths: Sequence[Path],
    out: Place,
    *,
    name: str | None = None,
    form: str | None = None,
    beside: str | None = None,
    command: str = "bloatlab import",
) -> list[Imported]:
    """Reads files, and stores each as a run. All are read before the first is stored.

    The identity of a run is a hash of the contents of its file, so that a file is stored once.

    Args:
        paths: The files.
        out: The results directory.
        name: Name of the experiment; absent: the tool and the name of what it measured.
        form: Format of the files; absent: their contents tell it.
        beside: A run of this results directory that simulates what was measured: the measurement becomes another run of
            the same scenario and parameters. An unambiguous prefix is enough.
        command: The command that is recorded.

    Raises:
        ParameterError: A file cannot be read, or is not sound; or the name is that of an experiment of the catalogue.
        StoreError: There is no such run, or the store cannot be written.
    """
    if name is not None and (beside is not None or name in CATALOGUE or not name.strip()):
        why = "with --beside, the run has the name of its experiment" if beside is not None else "is not a free name"
        raise ParameterError(f"--name {name}: {why}; leave it out or choose another")
    read = [(path, *formats.read(path, form)) for path in paths]
    there = Store(out) if Store.exists(out) else None
    if beside is not None and there is None:
        raise ParameterError(f"--beside {beside}: {out} holds no runs")
    other = there.find(beside) if there is not None and beside is not None else None
    known = dict(there.runs().select("run_id", "experiment").iter_rows()) if there is not None else {}
    records: dict[str, RunRecord] = {}
    found = []
    for path, measured, data in read:
        if other is None:
            record = _alone(measured, path, data, name)
        else:
            assert there is not None
            record = _beside(measured, data, other, there, len(records))
        is_new = record.run_id not in known and record.run_id not in records
        if is_new:
            records[record.run_id] = record
        found.append(Imported(path, measured.tool, record.run_id, is_new))
    if records:
        with Writer(out, units()) as writer:
            for record in records.values():
                writer.submit(record)
            for experiment in dict.fromkeys(record.experiment for record in records.values()):
                count = sum(record.experiment == experiment for record in records.values())
                writer.invocation(experiment, command, count)
    return found


def _alone(measured: Measurement, path: Path, data: bytes, name: str | None) -> RunRecord:
    """A run of its own, whose scenario only describes the measurement."""
    about = {
        "tool": measured.tool,
        "name": measured.name,
        "began": measured.began,
        "duration_s": measured.duration_s,
        "sha256": hashlib.sha256(data).hexdigest(),
        "entities": _entities(measured),
        "facts": dict(measured.facts),
    }
    experiment = name or f"{measured.tool}-{measured.name}"
    scenario = canonical({"name": experiment, MEASURED: about})
    # The name of an experiment is the user's word, not a part of what was measured.
    identity = canonical({MEASURED: about})
    parameters = {"file": path.name, **measured.facts}
    return _record(measured, data, experiment, scenario, identity, 0, 0, parameters)


def _entities(measured: Measurement) -> dict[str, dict[str, Any]]:
    """What the tables of a run do not hold of flows and probes."""
    found: dict[str, dict[str, Any]] = {
        flow.name: {"direction": flow.direction, "dscp": flow.dscp} for flow in measured.flows
    }
    for probe in measured.probes:
        losses = [[one.sent_s, one.loss or "lost"] for one in probe.echoes if one.rtt_ms is None]
        found[probe.name] = {"dscp": probe.dscp, **({"losses": losses} if losses else {})}
    return found


def _beside(measured: Measurement, data: bytes, other: Mapping[str, Any], there: Store, more: int) -> RunRecord:
    """A run of the scenario and the parameters of another run."""
    import polars as pl

    measured = named_as_in(measured, json.loads(other["scenario"]))
    same = there.runs().filter(
        (pl.col("point") == other["point"]) & (pl.col("seed") == other["seed"]) & (pl.col("engine") == measured.tool)
    )
    return _record(
        measured, data, other["experiment"], other["scenario"], other["scenario"], other["seed"], same.height + more,
        json.loads(other["parameters"]),
    )  # fmt: skip


def _record(
    measured: Measurement,
    data: bytes,
    experiment: str,
    scenario: str,
    identity: str,
    seed: int,
    repetition: int,
    parameters: Mapping[str, Any],
) -> RunRecord:
    digest = hashlib.sha256(data).hexdigest()
    metrics = outcome.metrics(measured)
    return RunRecord(
        run_id=run_id(identity, seed, f"file {digest}", measured.tool),
        experiment=experiment,
        scenario=scenario,
        seed=seed,
        engine=measured.tool,
        engine_version=measured.version,
        repetition=repetition,
        parameters=parameters,
        metrics={**metrics, **_of_experiment(experiment, metrics)},
        tables=outcome.tables(measured),
        digest=digest[:32],
        wall_s=measured.duration_s,
    )


def _of_experiment(name: str, metrics: Mapping[str, Any]) -> dict[str, Mapping[str, float]]:
    """The metrics that the experiment itself defines, if the measurement has what they are computed from."""
    experiment = CATALOGUE.get(name)
    if experiment is None or not experiment.measures:
        return {}
    try:
        return {"experiment_metrics": experiment.measure(metrics)}
    except (KeyError, ValueError, ZeroDivisionError):
        return {}
