"""What `--help` shows besides the parameters: the groups of commands, and examples of each command.

A test reads every example with the parser of the command line, so an example cannot go stale.
"""

from __future__ import annotations

from collections.abc import Iterator

from cyclopts import App, Group

GROUPS = {
    "Look up": ("list", "show", "algorithms", "engines", "schema", "help"),
    "Run": ("run", "simulate", "sweep", "reproduce", "check", "shell", "lab"),
    "Read": ("report", "figure", "export", "import", "runs", "store"),
    "Analyse": ("compare", "sensitivity", "tune", "parity"),
    "Tools": ("tc", "trace", "calc", "kernel", "completion"),
}
"""The groups of commands, in the order of the help."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "list": ("list", "list --json"),
    "show": ("show deep-buffers", "show home-router --json"),
    "algorithms": ("algorithms", "algorithms fq_codel cubic", "algorithms codel --json"),
    "engines": ("engines", "engines --json"),
    "schema": ("schema", "schema > scenario.schema.json"),
    "help": ("help run", "help trace make"),
    "run": (
        "run deep-buffers",
        "run deep-buffers --sweep cca=cubic,bbr --sweep qlen=20p,320p -j 2",
        "run home-router --set maxq=20 --replications 5 -o results/home",
    ),
    "simulate": (
        "simulate mine.toml",
        "simulate mine.toml --sweep dumbbell.queue=fifo,codel,fq_codel",
        "simulate mine.toml --set flows.0.cca=bbr --json",
    ),
    "sweep": (
        "sweep plan.toml --dry-run",
        "sweep plan.toml -j 2",
        "sweep plan.toml --replications 10 -o results/long",
    ),
    "reproduce": ("reproduce deep-buffers", "reproduce mmwave-aqm --traces traces"),
    "check": (
        "check link.toml",
        "check tests/a.toml tests/b.toml --junit check.xml",
        "check link.toml --set dumbbell.queue=fifo --replications 5",
    ),
    "shell": (
        r"shell --rate 9Mbit/s --queue cake -- iperf3 -c \$BLOATLAB_SERVER",
        r"shell mine.toml --live -- curl -O http://\$BLOATLAB_SERVER/10MB",
        "shell --rate 20Mbit/s --reverse-rate 5Mbit/s",
    ),
    "lab": ("lab", "lab mine.toml", "lab results/deep-buffers --no-browser"),
    "report": ("report results/deep-buffers", "report results/deep-buffers --again"),
    "figure": (
        "figure results/deep-buffers",
        "figure results/deep-buffers time_series -o series.svg",
        "figure results/deep-buffers ecdf --run 41 -o rtt.pdf",
    ),
    "export": (
        "export results/deep-buffers --csv --summary -o tables",
        "export results/deep-buffers --pcap 41f0 -o run.pcap",
        "export results/rrul --flent 41f0 -o rrul.flent.gz",
    ),
    "import": ("import rrul-today.flent.gz", "import ping.json.gz --out results/home --beside 41f0"),
    "runs": ("runs results/deep-buffers", "runs results/deep-buffers --json"),
    "store check": ("store check results/deep-buffers", "store check results/deep-buffers --json"),
    "store repair": ("store repair results/deep-buffers", "store repair results/deep-buffers -j 2"),
    "store upgrade": ("store upgrade results/deep-buffers", "store upgrade s3://bucket/results"),
    "compare": (
        "compare results/a results/b",
        "compare results/s --by queue=fifo,codel --metric link.mean_sojourn",
        "compare results/a results/b --fail-on-difference --json",
    ),
    "sensitivity": (
        "sensitivity a.toml --vary dumbbell.rtt=5ms..1s --metric link.drops",
        "sensitivity deep-buffers --vary qlen=9p..90p --metric network.power",
    ),
    "tune": (
        "tune mine.toml --queue codel,fq_codel,cake --trials 50",
        "tune mine.toml --minimise link.p95_sojourn --vary flows.0.count=1,4",
    ),
    "parity": (
        "parity --queue fq_codel,cake --rtt 20ms,80ms",
        "parity --cca reno --flows 4 --seeds 5 -j 2",
        "parity --queue fq_pie --ecn on --markdown parity.md",
    ),
    "tc": (
        'tc --queue "fq_codel limit 5000 target 10ms" --dev eth0',
        "tc mine.toml --set dumbbell.queue=cake --dev eth1",
        "tc home-router --as mininet",
    ),
    "trace formats": ("trace formats", "trace formats --json"),
    "trace make": (
        "trace make mmwave --set preset=lb --duration 120s -o lb.csv",
        "trace make poisson --rate 20Mbit/s --to mahimahi -o poisson.trace",
    ),
    "trace info": ("trace info lb.csv", "trace info lb.csv --below 50Mbit/s --json"),
    "trace plot": ("trace plot lb.csv -o lb.svg", "trace plot lb.csv --below 50Mbit/s -o dips.pdf"),
    "trace convert": (
        "trace convert lb.csv --to mahimahi -o lb.trace",
        "trace convert lb.trace --to rate_interval -o lb.csv",
    ),
    "calc nic": ("calc nic --txqueuelen 1000 --rate 100Mbps", "calc nic --rate 1Gbps --mtu 9000 --json"),
    "calc bdp": ("calc bdp --rate 10Mbit/s --rtt 40ms", "calc bdp --rate 1Gbit/s --rtt 10ms --json"),
    "calc queue": ("calc queue --limit 1000p --rate 20Mbit/s", "calc queue --limit 150kB --rate 1Mbit/s --json"),
    "kernel build": ("kernel build", "kernel build --source linux-6.12.tar.xz --jobs 4"),
    "kernel list": ("kernel list", "kernel list --json"),
    "kernel remove": ("kernel remove 6.12.117-1a2b3c4d", "kernel remove 7.2.12-75d45f1e"),
    "completion": ("completion bash", "completion zsh -o _bloatlab", "completion --install"),
}
"""Examples of each command, without the name of the program."""


def commands(app: App, path: tuple[str, ...] = ()) -> Iterator[tuple[str, App]]:
    """Every command that does something, with its name such as `trace make`."""
    for name in app:
        if name.startswith("-"):
            continue
        command = app[name]
        if any(not inner.startswith("-") for inner in command):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


def add_to(app: App) -> None:
    """Gives each command its group and its examples."""
    for title, names in GROUPS.items():
        group = Group.create_ordered(title)
        for place, name in enumerate(names):
            app[name].group = (group,)
            app[name].sort_key = place
    for name, command in commands(app):
        if name in EXAMPLES:
            lines = "\n".join(f"  bloatlab {example}" for example in EXAMPLES[name])
            command.help_epilogue = f"```\nExamples:\n{lines}\n```"
    app.group_commands = Group.create_ordered("Options")
