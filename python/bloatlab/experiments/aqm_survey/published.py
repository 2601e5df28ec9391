"""Values of the slides, and of the same runs in ns-2."""

from __future__ import annotations

from collections.abc import Mapping

_COLUMNS = ("leff", "tcp_share", "qlen", "fair", "fair_tcp", "fair_ccp", "drop", "drop_tcp", "drop_ccp")


def _rows(rows: Mapping[str, tuple[float, ...]]) -> Mapping[str, Mapping[str, float]]:
    return {queue: dict(zip(_COLUMNS, row, strict=True)) for queue, row in rows.items()}


SLIDE_15 = _rows(
    {
        "fifo": (99.69, 98.24, 305.16, 50.45, 97.41, 99.96, 2.20, 2.22, 2.86),
        "red": (98.32, 57.29, 3.92, 97.34, 99.44, 99.44, 8.77, 9.15, 8.30),
        "choke": (98.17, 52.55, 5.68, 99.23, 99.59, 99.49, 10.98, 13.97, 7.42),
        "drr": (99.69, 54.05, 13.74, 90.25, 97.24, 83.27, 5.15, 7.63, 3.44),
        "sfq": (99.69, 53.21, 21.64, 99.55, 99.99, 99.93, 2.81, 5.14, 0.01),
        "codel": (99.01, 63.50, 7.45, 92.55, 99.26, 99.53, 7.02, 7.27, 6.66),
    }
)
"""Slide 15: LEDBAT, BUF 400, CAP 4, WLD 5; percent, QLEN in packets."""
RERUN = _rows(
    {
        "fifo": (99.9, 98.0, 282, 41.6, 80, 99.9, 1.1, 1.1, 1.5),
        "red": (98.6, 56.1, 3.91, 98.0, 99.4, 99.5, 8.6, 9.0, 8.2),
        "drr": (99.9, 62.7, 13.4, 87.3, 98.3, 80.8, 4.4, 6.1, 1.3),
        "sfq": (99.9, 63.3, 21.0, 88.5, 100, 83.4, 2.2, 3.5, 0.01),
        "codel": (98.9, 59.3, 7.40, 96.0, 99.5, 99.4, 7.3, 7.5, 7.0),
    }
)
"""The same point in ns-2 with ten seeds, without CHOKe, from earlier notes; `ns2` has our own runs."""
RANKS: Mapping[str, tuple[int, int, int]] = {
    "red": (2, 2, 4), "choke": (3, 2, 3), "drr": (3, 5, 2), "sfq": (3, 1, 1), "codel": (1, 2, 4),
}  # fmt: skip
"""The score table: ranks by TCP%, by F_TCP + F_CCP and by D_TCP / D_CCP; the score is their sum."""
SFQ_DROP_RATIOS: Mapping[str, float] = {"ledbat": 424, "lp": 1.29, "nice": 85.52}
"""D_TCP / D_CCP of SFQ in the score tables of slide 17, by low-priority congestion control."""


def drop_of_rest(row: Mapping[str, float]) -> float:
    """D_CCP that follows from the DROP, TCP% and D_TCP of a row, percent."""
    share, drop, drop_tcp = (row[name] / 100 for name in ("tcp_share", "drop", "drop_tcp"))
    # Drops for each packet that gets through.
    lost = drop / (1 - drop) - share * drop_tcp / (1 - drop_tcp)
    return 100 * lost / (lost + 1 - share)
