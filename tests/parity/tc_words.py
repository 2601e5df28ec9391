"""tc's words as a queue of ours."""

from __future__ import annotations

from typing import Any


def queue(words: str) -> dict[str, Any] | None:
    """The queue that these words describe."""
    name, *rest = words.split()
    match name:
        case "pfifo":
            return {"kind": "fifo", "limit": f"{rest[1]}p"}
        case "bfifo":
            return {"kind": "fifo", "limit": f"{rest[1]}B"}
        case "codel" | "fq_codel" | "pie":
            return {"kind": name, "ecn": "ecn" in rest}
    return None
