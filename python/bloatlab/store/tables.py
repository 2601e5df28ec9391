"""The tables of the SQLite side of a store."""

POINTS = """
CREATE TABLE points (
    point INTEGER PRIMARY KEY, scenario TEXT NOT NULL, parameters TEXT NOT NULL
)"""
RUNS = """
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, experiment TEXT NOT NULL, point INTEGER NOT NULL REFERENCES points, seed INTEGER NOT NULL,
    engine_version TEXT NOT NULL, status TEXT NOT NULL CHECK (status IN ('done', 'failed')), reason TEXT, digest TEXT,
    wall_s REAL, events INTEGER, kept INTEGER NOT NULL, created TEXT NOT NULL, part TEXT
) WITHOUT ROWID"""
RUNS_BY_PART = "CREATE INDEX runs_by_part ON runs (part)"
UNITS = """
CREATE TABLE units (
    scope TEXT NOT NULL, metric TEXT NOT NULL, unit TEXT NOT NULL, PRIMARY KEY (scope, metric)
) WITHOUT ROWID"""
CLAIMS = """
CREATE TABLE claims (
    experiment TEXT NOT NULL, run_id TEXT NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL, published REAL NOT NULL,
    measured REAL, tolerance REAL, holds INTEGER, source TEXT NOT NULL, bound TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (experiment, run_id, name)
)"""
INVOCATIONS = """
CREATE TABLE invocations (
    id INTEGER PRIMARY KEY, created TEXT NOT NULL, experiment TEXT NOT NULL, command TEXT NOT NULL, runs INTEGER NOT NULL
)"""
ALL = (POINTS, RUNS, RUNS_BY_PART, UNITS, CLAIMS, INVOCATIONS)
