"""Rules that every command keeps: groups, examples, `--json`, `-j`, `-o`, completion."""

from __future__ import annotations

import io
import json
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from rich.console import Console

from bloatlab import cli
from bloatlab.analysis.readings import reading
from bloatlab.cli import guide, show
from bloatlab.cli.app import app
from bloatlab.cli.shell_app import with_separator
from bloatlab.experiments import CATALOGUE, get
from bloatlab.experiments.groups import OTHERS, grouped
from bloatlab.store import Store
from conftest import REAL
from small_runs import simulate

COMMANDS = dict(guide.commands(app))
WIDTH = 80
LISTINGS = {
    "list", "show", "algorithms", "engines", "runs", "figure", "store check", "trace formats", "trace info", "calc nic",
    "calc bdp", "calc queue", "compare", "sensitivity", "tune", "run", "simulate", "sweep", "reproduce", "check",
    "kernel list", "parity",
}  # fmt: skip
"""Commands that print results; `--json` prints them as one document."""
MAKES_RUNS = {"run", "simulate", "sweep", "reproduce", "check", "sensitivity", "tune", "parity", "store repair"}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.command(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def options(command: str) -> dict[str, str]:
    """Each name of each option of a command, with its help."""
    found = {}
    for argument in COMMANDS[command].assemble_argument_collection(parse_docstring=True):
        found.update(dict.fromkeys(argument.names, argument.parameter.help or ""))
    return found


def test_every_command_has_a_group_and_examples() -> None:
    grouped_commands = [name for names in guide.GROUPS.values() for name in names]
    assert sorted(grouped_commands) == sorted({name.split()[0] for name in COMMANDS})
    assert set(guide.EXAMPLES) == set(COMMANDS)
    assert all(2 <= len(examples) <= 3 for examples in guide.EXAMPLES.values())


@pytest.mark.parametrize(("command", "example"), [(name, line) for name, of in guide.EXAMPLES.items() for line in of])
def test_the_parser_accepts_every_example(command: str, example: str) -> None:
    words = shlex.split(example.partition(" > ")[0])
    chain, _, rest = app.parse_commands(words)
    assert " ".join(chain) == command
    function, *_ = app.parse_args(with_separator(words), exit_on_error=False, print_error=False, verbose=False)
    assert function is COMMANDS[command].default_command
    if command in ("run", "show", "reproduce"):
        experiment = get(rest[0])
        known = {parameter.name for parameter in experiment.parameters}
        given = [words[place + 1] for place, word in enumerate(words) if word in ("--set", "--sweep")]
        assert {item.partition("=")[0] for item in given} <= known
    for place, word in enumerate(words):
        if word in ("--metric", "--minimise", "--maximise"):
            reading(words[place + 1])


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_80_columns_and_shows_the_examples(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    code, out, err = run(capsys, *command.split(), "--help")
    assert (code, err) == (0, "")
    lines = [line.strip() for line in out.splitlines()]
    assert max(map(len, lines)) <= WIDTH
    for example in guide.EXAMPLES[command]:
        assert f"bloatlab {example}" in lines
    assert run(capsys, "help", *command.split()) == (0, out, "")


def test_the_list_of_commands_is_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--help")
    assert code == 0
    places = [out.index(f"─ {title} ") for title in (*guide.GROUPS, "Options")]
    assert places == sorted(places)
    assert run(capsys, "help")[1] == out


def test_help_of_an_unknown_command_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "help", "rnu") == (2, "", "bloatlab: unknown command `rnu` (did you mean `run`?)\n")
    assert run(capsys, "help", "trace", "mke") == (2, "", "bloatlab: unknown command `mke` (did you mean `make`?)\n")
    assert run(capsys, "run", "--nothing")[2].endswith("(bloatlab help run)\n")
    assert run(capsys, "trace", "make")[2].endswith("(bloatlab help trace make)\n")
    assert run(capsys, "rnu")[2].endswith("(bloatlab help)\n")
    assert run(capsys, "-V") == (0, f"bloatlab {version('bloatlab')}\n", "")
    assert run(capsys, "--version") == run(capsys, "-V")


def test_o_is_where_the_result_of_a_command_is_written() -> None:
    having = {command for command in COMMANDS if "-o" in options(command)}
    assert having == {command for command in COMMANDS if "--out" in options(command)}
    assert {"run", "check", "figure", "export", "trace make", "trace plot", "trace convert", "tune"} <= having
    for command in having:
        (out,) = (
            argument
            for argument in COMMANDS[command].assemble_argument_collection(parse_docstring=True)
            if "-o" in argument.names
        )
        assert set(out.names) == {"-o", "--out"}
        assert out.parameter.metavar in {"FILE", "DIR", "DIR|URL", "DIR|FILE"}
        words = (out.parameter.help or "").lower()
        assert ("file" in words) is ("FILE" in str(out.parameter.metavar))
        assert ("directory" in words) is ("DIR" in str(out.parameter.metavar))


def test_j_means_the_same_wherever_runs_are_made() -> None:
    helps = {command: options(command).get("-j") for command in COMMANDS}
    assert {command for command, text in helps.items() if text is not None} == MAKES_RUNS
    assert len({helps[command] for command in MAKES_RUNS}) == 1
    assert all("--jobs" in options(command) for command in MAKES_RUNS)


def test_every_listing_has_json() -> None:
    assert {command for command in COMMANDS if "--json" in options(command)} == LISTINGS


@pytest.mark.skipif(not REAL, reason="needs the engine")
def test_json_is_one_document_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.toml").write_text('duration = "1s"\ndumbbell = { rate = "1Mbit/s", rtt = "10ms" }\nflows = [{}]\n')
    Path("rates.csv").write_text("10,0.5\n20,0.5\n")
    assert run(capsys, "simulate", "a.toml", "--json")[0] == 0
    for line in (
        "list", "show home-router", "show cc-benchmark", "algorithms", "algorithms codel", "engines", "runs results/a",
        "figure results/a", "store check results/a", "trace formats", "trace info rates.csv --format rate_interval",
        "calc nic --rate 1Gbps", "calc bdp --rate 1Gbit/s --rtt 1ms", "calc queue --limit 10p --rate 1Mbit/s",
        "compare results/a results/a", "kernel list",
    ):  # fmt: skip
        code, out, err = run(capsys, *line.split(), "--json")
        assert (code, err) == (0, ""), line
        assert isinstance(json.loads(out), dict | list), line
        assert out.count("\n") == 1, line


def test_show_of_every_experiment_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    for name, experiment in CATALOGUE.items():
        document = json.loads(run(capsys, "show", name, "--json")[1])
        assert [of["name"] for of in document["parameters"]] == [of.name for of in experiment.parameters]
        assert len(document["claims"]) == len((*experiment.claims, *experiment.comparison))


def test_show_is_readable_in_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(show, "console", lambda: Console(file=out, width=WIDTH, markup=False, highlight=False))
    for name, experiment in CATALOGUE.items():
        out.seek(out.truncate(0))
        show.show_experiment(name, as_json=False)
        lines = out.getvalue().splitlines()
        assert max(map(len, lines)) <= WIDTH
        assert not any("…" in line for line in lines)
        words = " ".join(line.strip("│┃ ") for line in lines)
        assert all(parameter.name in words for parameter in experiment.parameters)
        assert all(claim.published_text in words for claim in experiment.claims)


def test_experiments_are_listed_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    groups = grouped(CATALOGUE)
    assert OTHERS not in groups
    assert sorted(name for names in groups.values() for name in names) == sorted(CATALOGUE)
    order = list(CATALOGUE)
    assert all(names == sorted(names, key=order.index) for names in groups.values())
    assert grouped(["mine:Experiment"]) == {OTHERS: ["mine:Experiment"]}
    code, out, _ = run(capsys, "list")
    lines = out.splitlines()
    assert code == 0
    assert max(map(len, lines)) <= WIDTH
    assert [line.removesuffix(":") for line in lines if line.endswith(":")] == list(groups)
    named = [line.split()[0] for line in lines if line.startswith("  ")]
    assert named == [name for names in groups.values() for name in names]


@pytest.mark.usefixtures("fake")
def test_a_store_problem_is_in_json_and_is_repaired(capsys: pytest.CaptureFixture[str]) -> None:
    simulate(Path("store"))
    capsys.readouterr()
    next(Path("store").glob("parts/*/metrics.parquet")).unlink()
    code, out, err = run(capsys, "store", "check", "store", "--json")
    assert (code, err) == (1, "")
    assert len(json.loads(out)["problems"]) == 1
    assert run(capsys, "store", "repair", "store", "-j", "0")[0] == 2
    assert run(capsys, "store", "repair", "store", "-j", "1")[0] == 0
    assert json.loads(run(capsys, "store", "check", "store", "--json")[1])["problems"] == []


@pytest.mark.skipif(not REAL, reason="needs the engine")
def test_figure_without_a_name_lists_what_can_be_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.toml").write_text('duration = "1s"\ndumbbell = { rate = "1Mbit/s", rtt = "10ms" }\nflows = [{}]\n')
    run(capsys, "simulate", "a.toml", "--json")
    _, out, _ = run(capsys, "figure", "results/a")
    assert max(map(len, out.splitlines())) <= WIDTH
    listed = json.loads(run(capsys, "figure", "results/a", "--json")[1])["figures"]
    assert "time_series" in {of["name"] for of in listed}
    assert "load_delay" not in {of["name"] for of in listed}
    assert all(of["name"] in out and of["title"] in out for of in listed)
    assert "needs --out FILE" in run(capsys, "figure", "results/a", "time_series")[2]
    assert run(capsys, "figure", "results/a", "-o", "x.svg")[0] == 2


def completed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    code, out, err = run(capsys, "__complete", *words)
    assert (code, err) == (0, "")
    _, _, candidates = out.partition("\x1fbegin\n")
    return [line.partition("\t")[0] for line in candidates.splitlines()]


@pytest.mark.usefixtures("fake")
def test_values_are_completed(capsys: pytest.CaptureFixture[str]) -> None:
    assert completed(capsys, "run", "") == list(CATALOGUE)
    assert "qlen=" in completed(capsys, "run", "deep-buffers", "--set", "")
    assert completed(capsys, "run", "nothing", "--set", "") == []
    assert "time_series" in completed(capsys, "figure", "results", "")
    assert {"fq_codel", "cubic"} <= set(completed(capsys, "algorithms", ""))
    queues = completed(capsys, "tc", "--queue", "")
    assert "cake" in queues
    assert "cubic" not in queues
    assert "cubic" in completed(capsys, "shell", "--cca", "")
    assert "link.mean_sojourn" in completed(capsys, "compare", "a", "b", "--metric", "")
    assert "sim" in completed(capsys, "run", "deep-buffers", "--engine", "")
    assert "mmwave" in completed(capsys, "trace", "make", "")
    assert "mahimahi" in completed(capsys, "trace", "convert", "a", "--to", "")
    assert completed(capsys, "help", "trace", "") == ["formats", "make", "info", "plot", "convert"]
    Path("mine.toml").touch()
    assert {"mine.toml", "deep-buffers"} <= set(completed(capsys, "tune", ""))
    simulate(Path("store"))
    capsys.readouterr()
    assert completed(capsys, "figure", "store", "ecdf", "--run", "") == Store("store").runs()["run_id"].to_list()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    code, out, err = run(capsys, "completion", shell)
    assert (code, err) == (0, "")
    assert "__complete" in out
    assert run(capsys, "completion", shell, "-o", "script") == (0, "script\n", "")
    assert Path("script").read_text().strip() == out.strip()
    assert run(capsys, "completion", shell, "-o", "no/where")[0] == 2
    if shutil.which(shell):
        subprocess.run([shell, "-n", "script"], check=True)


def test_completion_of_an_unknown_shell(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from cyclopts import completion

    def fails() -> str:
        raise completion.ShellDetectionError

    monkeypatch.setattr(completion, "detect_shell", fails)
    code, _, err = run(capsys, "completion")
    assert code == 2
    assert "bash, zsh or fish" in err


def test_install_writes_only_below_home(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".bashrc").write_text("alias ll='ls -l'\n")
    code, out, _ = run(capsys, "completion", "bash", "--install")
    assert code == 0
    installed = Path(out.strip())
    assert installed.is_relative_to(tmp_path)
    assert "_bloatlab" in installed.read_text()
    start_up = (tmp_path / ".bashrc").read_text()
    assert start_up.startswith("alias ll='ls -l'\n")
    assert str(installed) in start_up
    assert run(capsys, "completion", "bash", "--install", "-o", "x")[0] == 2


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run(capsys, "completion", "bash", "-o", "script")
    program = tmp_path / "bin" / "bloatlab"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m bloatlab "$@"\n')
    program.chmod(0o755)
    asked = {
        "ru": "run runs",
        "trace ma": "make",
        "run home": "home-router",
        "run deep-buffers --repl": "--replications",
        "figure results time": "time_series",
        "tc --queue fq_c": "fq_codel",
    }
    lines = [
        f"COMP_WORDS=(bloatlab {words}); COMP_CWORD={len(words.split())}; COMPREPLY=(); _bloatlab; "
        'printf "%s\\n" "$(printf "%s\\n" "${COMPREPLY[@]}" | sort | tr "\\n" " ")"'
        for words in asked
    ]
    script = "\n".join([f"PATH={shlex.quote(str(program.parent))}:$PATH", "source ./script", *lines])
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert [line.strip() for line in done.stdout.splitlines()] == list(asked.values())
