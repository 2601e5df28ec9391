"""No circle of files in any Rust crate: a file uses only files that do not use it, directly or by way of others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CRATES = Path(__file__).resolve().parents[2] / "crates"


def modules(source: Path) -> dict[str, Path]:
    """The files of a crate by module path, such as `check::flow`, except the root."""
    found = {}
    for file in sorted(source.rglob("*.rs")):
        parts = file.relative_to(source).with_suffix("").parts
        name = "::".join(parts[:-1] if parts[-1] == "mod" else parts)
        if name != "lib":
            found[name] = file
    return found


def code(file: Path) -> str:
    """The text of a file without comments and without its tests."""
    text = re.sub(r"//.*", "", file.read_text())
    return re.split(r"#\[cfg\(test\)\]\s*mod \w+ \{", text)[0]


def leaves(tree: str, prefix: str = "") -> Iterator[str]:
    """The paths of a `use` tree: `a::{b, c::{d}}` gives `a::b` and `a::c::d`."""
    tree = re.sub(r"\s+as\s+\w+", "", tree).strip()
    group = re.fullmatch(r"(.*?)(?:::)?\{(.*)\}", tree, re.DOTALL)
    if not group:
        yield f"{prefix}::{tree}".strip(":")
        return
    depth, start, inner = 0, 0, group[2] + ","
    for place, character in enumerate(inner):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            if inner[start:place].strip():
                yield from leaves(inner[start:place], f"{prefix}::{group[1]}".strip(":"))
            start = place + 1


def reexports(source: Path) -> dict[str, str]:
    """Names that the root of a crate re-exports, with their paths."""
    found = {}
    for tree in re.findall(r"\bpub(?:\(crate\))? use ([^;]+);", code(source / "lib.rs")):
        for path in leaves(tree):
            found[path.split("::")[-1]] = path
    return found


def used(name: str, text: str, known: dict[str, Path], names: dict[str, str]) -> set[str]:
    """The files of its crate that a file uses."""
    here = name.split("::")
    paths = [path for tree in re.findall(r"\buse\s+([^;]+);", text) for path in leaves(tree)]
    body = re.sub(r"\buse\s+[^;]+;", "", text)
    paths += re.findall(r"\b(?:crate|super|self)(?:::\w+)+", body)
    found = set()
    for path in paths:
        parts = path.split("::")
        if parts[0] not in ("crate", "super", "self"):
            continue
        base = [] if parts[0] == "crate" else here
        while parts[0] == "super":
            base, parts = base[:-1], parts[1:]
        full = [*base, *(part for part in parts if part not in ("crate", "self"))]
        if len(full) == 1 and full[0] in names and full[0] not in known:
            full = names[full[0]].split("::")
        module = next(("::".join(full[:n]) for n in range(len(full), 0, -1) if "::".join(full[:n]) in known), name)
        found.add(module)
    return found - {name}


def circle(source: Path) -> list[str]:
    """A circle of files, if there is one."""
    known, names = modules(source), reexports(source)
    graph = {name: used(name, code(file), known, names) for name, file in known.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("crate", sorted(path.parent.parent.name for path in CRATES.glob("*/src/lib.rs")))
def test_a_crate_has_no_circle_of_files(crate: str) -> None:
    found = circle(CRATES / crate / "src")
    assert not found, " uses ".join(reversed(found))


def test_a_circle_is_found(tmp_path: Path) -> None:
    (tmp_path / "lib.rs").write_text("mod a;\nmod b;\nmod c;\npub use b::{Thing, other};\n")
    (tmp_path / "a.rs").write_text("use crate::Thing;\n")
    (tmp_path / "b.rs").write_text("use super::c::{self, Deep};\n")
    (tmp_path / "c.rs").write_text(
        "// use crate::a;\nfn f() { crate::a::g() }\n#[cfg(test)]\nmod tests { use crate::b; }\n"
    )
    assert sorted(set(circle(tmp_path))) == ["a", "b", "c"]
    (tmp_path / "c.rs").write_text("// use crate::a;\n")
    assert circle(tmp_path) == []
