"""Reads a Vega-Lite specification: its views, fields, titles, marks, colours and rows of data."""


def units(spec):
    """Every unit view of a specification: those with a mark."""
    found = [spec] if "mark" in spec else []
    for key in ("layer", "vconcat", "hconcat", "concat"):
        for part in spec.get(key, []):
            found += units(part)
    return found


def fields(spec):
    return {
        channel["field"]
        for unit in units(spec)
        for channel in unit["encoding"].values()
        if isinstance(channel, dict) and "field" in channel
    }


def titles(spec):
    found = set()
    for unit in units(spec):
        for channel in unit["encoding"].values():
            axis = channel.get("axis") if isinstance(channel, dict) else None
            if axis and axis.get("title"):
                found.add(axis["title"])
    return found


def rows(spec):
    return sum(len(data) for data in spec["datasets"].values())


def mark(unit):
    return unit["mark"]["type"] if isinstance(unit["mark"], dict) else unit["mark"]


def colours(spec):
    """Domain to range of every colour scale with a domain."""
    found = {}
    for unit in units(spec):
        scale = unit["encoding"].get("color", {}).get("scale") or {}
        found.update(zip(scale.get("domain", []), scale.get("range", []), strict=True))
    return found
