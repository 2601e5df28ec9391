"""Scenario documents: builders, the models of the schema, and what reads and checks files.

`document` puts a scenario together from a network (`dumbbell`, `parking_lot`, `cell` or `boxes`) and its flows (`flow`).
`bloatlab.scenario.models` has the same as pydantic models.
"""

from bloatlab.scenario.box_builders import boxes, corrupt, delay, duplicate, link, loss, outage
from bloatlab.scenario.builders import document, dumbbell, flow, impairments, parking_lot
from bloatlab.scenario.cell_builders import bearer, cell, radio
from bloatlab.scenario.tables import Algorithm, Document, Table

__all__ = [
    "Algorithm",
    "Document",
    "Table",
    "bearer",
    "boxes",
    "cell",
    "corrupt",
    "delay",
    "document",
    "dumbbell",
    "duplicate",
    "flow",
    "impairments",
    "link",
    "loss",
    "outage",
    "parking_lot",
    "radio",
]
