"""The figures; a file has one figure, or several that share code."""
