from __future__ import annotations

import sys
from pathlib import Path

import pytest

import bloatlab as bl
from bloatlab.errors import ParameterError
from bloatlab.loading import AllowedPlugins, fingerprint, resolve

ANY = AllowedPlugins(all=True)


class Halving(bl.CongestionControl):
    def __init__(self, gain: int = 1) -> None:
        self.gain = gain

    def on_ack(self, window: object, ack: object) -> None: ...


class Lifo(bl.Queue):
    pass


class Stranger:
    pass


def test_classes_become_tables_and_factories() -> None:
    document, plugins = resolve(
        {
            "dumbbell": {"queue": Lifo},
            "flows": [{"cca": bl.configured(Halving, gain=3)}, {"cca": "test_plugins:Halving"}],
        },
        ANY,
    )
    table = document["flows"][0]["cca"]
    assert table == {
        "kind": "python",
        "class": "test_plugins:Halving",
        "source": fingerprint(Halving),
        "params": {"gain": 3},
    }
    assert document["flows"][1]["cca"]["params"] == {}
    assert document["dumbbell"]["queue"]["class"] == "test_plugins:Lifo"
    assert set(plugins) == {"test_plugins:Halving", "test_plugins:Lifo"}
    made = plugins["test_plugins:Halving"]({"gain": 5})
    assert isinstance(made, Halving)
    assert made.gain == 5


def test_a_stored_table_resolves_to_itself() -> None:
    document, _ = resolve({"flows": [{"cca": Halving}]})
    again, plugins = resolve(document, ANY)
    assert again == document
    assert set(plugins) == {"test_plugins:Halving"}


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("no_such_module:A", "cannot be imported"),
        ("test_plugins:Nobody", "cannot be imported"),
        ("test_plugins:pytest", "is not a class"),
        ("test_plugins:Stranger", "must be a subclass"),
    ],
)
def test_bad_references(reference: str, why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        resolve({"flows": [{"cca": reference}]}, ANY)


def test_names_and_other_text_stay() -> None:
    document = {"name": "a:b", "flows": [{"cca": "cubic", "traffic": {"kind": "ping", "interval": "1s"}}]}
    assert resolve(document) == (document, {})


def test_modules_of_the_working_directory_are_found_and_edits_change_the_fingerprint(tmp_path: Path) -> None:
    module = tmp_path / "users_module.py"
    module.write_text("import bloatlab\nclass Mine(bloatlab.Queue):\n    limit = 1\n")
    try:
        before, _ = resolve({"queue": "users_module:Mine"}, ANY)
        module.write_text("import bloatlab\nclass Mine(bloatlab.Queue):\n    limit = 2222\n")
        del sys.modules["users_module"]
        after, _ = resolve({"queue": "users_module:Mine"}, ANY)
    finally:
        sys.modules.pop("users_module", None)
    assert before["queue"]["source"] != after["queue"]["source"]


def test_a_class_without_source_has_a_fingerprint() -> None:
    space: dict[str, type] = {}
    for name, body in (("one", "return 1"), ("two", "return 2")):
        scope: dict[str, object] = {"__name__": "nowhere_to_be_found", "Queue": bl.Queue}
        exec(f"class Q(Queue):\n    def dequeue(self, now):\n        {body}", scope)
        space[name] = scope["Q"]  # type: ignore[assignment]
    assert fingerprint(space["one"]) != fingerprint(space["two"])


def test_missing_methods_say_so() -> None:
    with pytest.raises(NotImplementedError, match="Lifo has no enqueue"):
        Lifo().enqueue(None, 0)  # type: ignore[arg-type]
