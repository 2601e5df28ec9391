"""Numbers as text. The experiments write their sentences with the same functions."""

from bloatlab.experiments.phrases import NONE, amount, interval, number, numbers, percent, plural, separated, with_unit

__all__ = ["NONE", "amount", "interval", "number", "numbers", "percent", "plural", "separated", "with_unit"]
