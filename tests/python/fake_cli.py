"""The command line on the fake engine, for tests that need a process: `python fake_cli.py run ...`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "soak"))

import fake_core
from bloatlab.cli import main
from bloatlab.engines import registry

if __name__ == "__main__":
    registry.ENGINES = fake_core.IN_PLACE_OF_SIM
    sys.argv[0] = "bloatlab"
    main()
