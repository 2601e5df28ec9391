"""The CCPerf family: congestion controls over constant, shared, varying and lossy paths, one class per experiment."""

SYNONYMS = {
    "steady-state-single-flow": "steady-state",
    "steady-state-synchronous-fairness": "synchronous-fairness",
    "responsiveness-pulse-wave": "responsiveness-pulse",
}
"""CCPerf's names of experiments that have other names here."""
