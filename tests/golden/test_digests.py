"""Same seed, same bytes: the release build's digests are those that `cargo test` holds the debug build to."""

import json

from write_digests import HERE, digests


def test_digests_are_the_debug_build_s() -> None:
    expected = json.loads((HERE / "digests.json").read_text(encoding="utf-8"))
    assert digests() == expected, "run `make golden` if the change is meant"
