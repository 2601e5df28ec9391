"""Statistics of plain numbers: intervals of a mean, and differences of two samples. It knows no run, store or scenario."""
