"""The command line on the fake engine, for tests that need a process: `python fake_cli.py run ...`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "soak"))

import fake_core
from bloatlab import engines
from bloatlab.cli import main

if __name__ == "__main__":
    engines.use(fake_core)  # type: ignore[arg-type]
    sys.argv[0] = "bloatlab"
    main()
