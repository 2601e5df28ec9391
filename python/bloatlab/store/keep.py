"""How much of a run is kept. A run can be made again from its scenario and seed, so a large sweep may keep little of each."""

from __future__ import annotations

from enum import IntEnum

from bloatlab.errors import ParameterError


class Keep(IntEnum):
    """What is stored of a run. Each level includes the levels before it."""

    MEASURES = 0
    """The metrics that its experiment defines (`Experiment.measures`), and nothing else."""
    METRICS = 1
    """Every metric."""
    TABLES = 2
    """Series and histograms."""
    PACKETS = 3
    """Every packet."""

    @classmethod
    def usual(cls, packets: bool) -> Keep:
        """The level for callers that only decide about packets."""
        return cls.PACKETS if packets else cls.TABLES

    @classmethod
    def named(cls, text: str) -> Keep:
        """The level of that name.

        Raises:
            ParameterError: There is none.
        """
        try:
            return cls[text.upper()]
        except (KeyError, AttributeError) as error:
            names = ", ".join(level.name.lower() for level in cls)
            raise ParameterError(f"keep: must be one of {names}, not {text!r}") from error
