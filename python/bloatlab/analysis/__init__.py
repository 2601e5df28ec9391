"""Analysis over many runs: intervals, comparisons, sensitivity and tuning. Needs the extra `analysis`."""
