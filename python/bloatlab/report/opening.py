"""Links from a page to the lab, which is a file beside the page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from bloatlab.errors import ParameterError
from bloatlab.lab import fragment, single_file
from bloatlab.lab.single import MARK, NAME
from bloatlab.report.metric_tables import Cell
from bloatlab.report.model import PlainTable
from bloatlab.store import Store
from bloatlab.store.files import is_foreign, write_page

MOST_LINKS = 50
MOST_CHARACTERS = 60_000
"""A table with more runs, or with longer links in total, has no links. A link usually has some 700 characters."""
COLUMN = "lab"


@dataclass(frozen=True)
class Openings:
    """How a reader of the page opens its runs in the lab."""

    links: Mapping[str, str]
    """The address of each run that has a link."""
    note: str
    """What to do for the other runs, or why the lab cannot open them. Empty: every run has a link."""
    in_table: bool
    """Whether the table of runs has links too."""


def openings(store: Store, detailed: Sequence[str], listed: Sequence[str] = ()) -> Openings:
    """The links of the runs that a page shows. Writes the lab beside the page if a link needs it.

    Args:
        store: The results directory.
        detailed: The runs that the page shows in detail.
        listed: The runs of its table. They get links if these do not make the page much larger.

    Raises:
        StoreError: The lab cannot be written.
    """
    links, refusals = _links(store, detailed)
    in_table = len(listed) <= MOST_LINKS
    if in_table:
        of_table, refused = _links(store, [run_id for run_id in listed if run_id not in links])
        in_table = sum(map(len, of_table.values())) <= MOST_CHARACTERS
        if in_table:
            links, refusals = links | of_table, refusals | refused
    runs = {*detailed, *listed}
    if links and not write_lab(store.directory):
        return Openings({}, _command(runs), False)
    if refusals:
        return Openings(links, _refusal(runs, refusals), in_table)
    return Openings(links, "" if in_table else _command(runs), in_table)


def _command(runs: Set[str]) -> str:
    if len(runs) == 1:
        return f"`bloatlab lab DIR --run {next(iter(runs))[:10]}` opens this run in the lab."
    return "`bloatlab lab DIR --run ID` opens any of the runs in the lab."


def _refusal(runs: Set[str], refusals: Mapping[str, str]) -> str:
    """Why runs have no link: the reason of the first."""
    run_id, why = next(iter(refusals.items()))
    which = "this run" if len(runs) == 1 else f"some of the runs, such as {run_id[:10]}"
    return f"The lab cannot open {which}: {why}."


def _links(store: Store, runs: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The link of each run, and the reason for each run that the lab cannot open."""
    links: dict[str, str] = {}
    refusals: dict[str, str] = {}
    for run_id in runs:
        row = store.find(run_id)
        try:
            links[run_id] = f"{NAME}#{fragment(json.loads(row['scenario']), row['seed'])}"
        except ParameterError as error:
            refusals[run_id] = str(error).removeprefix("lab: ")
    return links, refusals


def write_lab(directory: Path) -> bool:
    """Writes the lab beside the pages of a results directory. Returns whether it is there.

    It is not there if this installation does not carry the lab, or if another file has its name.

    Raises:
        StoreError: It cannot be written.
    """
    lab, path = single_file(), directory / NAME
    if lab is None or is_foreign(path, MARK):
        return False
    # An equal file keeps its time, so that it is not uploaded again with the pages.
    if not path.exists() or path.read_bytes() != lab.encode():
        write_page(path, lab, MARK)
    return True


def with_column(table: PlainTable, runs: Sequence[str], of: Openings) -> PlainTable:
    """The table with a second column of links, if its runs have any. A last column would be out of sight in a wide table.

    Args:
        table: The table.
        runs: The run of each row.
        of: The links.
    """
    if not of.in_table or not of.links:
        return table
    cells = [Cell("open", link=of.links[run_id]) if run_id in of.links else Cell("") for run_id in runs]
    rows = [[row[0], cell, *row[1:]] for row, cell in zip(table.rows, cells, strict=True)]
    columns = [table.columns[0], COLUMN, *table.columns[1:]]
    return PlainTable(columns, rows, table.label, table.sortable, table.note)
