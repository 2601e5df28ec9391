"""Analysis of stored runs: claims, rankings, comparisons, sensitivity and tuning. The last three need the extra `analysis`."""
