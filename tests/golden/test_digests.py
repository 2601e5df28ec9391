"""Same seed, same bytes: the release build has the digests that `cargo test` checks in the debug build."""

import json

from write_digests import HERE, SCENARIOS, digests, with_new_algorithms


def test_digests_equal_the_golden_ones() -> None:
    expected = json.loads((HERE / "digests.json").read_text(encoding="utf-8"))
    assert digests() == expected, "run `make golden` if the change is meant"


def test_a_new_algorithm_gets_a_scenario() -> None:
    lines = SCENARIOS.read_text(encoding="utf-8").splitlines()
    new = [line for line in lines if line.startswith(('  "queue: gsp"', '  "congestion control: copa"'))]
    completed = with_new_algorithms([line for line in lines if line not in new])
    assert json.loads("\n".join(completed)) == json.loads("\n".join(lines))
