"""Numbers as text. The experiments write their sentences with the same functions."""

from bloatlab.experiments.phrases import NONE, interval, number, percent, plural, with_unit

__all__ = ["NONE", "interval", "number", "percent", "plural", "with_unit"]
