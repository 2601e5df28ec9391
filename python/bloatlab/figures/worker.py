"""A process that renders figures: reads one Vega-Lite specification (JSON) per line and writes one SVG (a JSON string) per line.

The renderer holds Python's global lock while it works and takes a third of a second to start. In a process of its own it works
while the next chart is built. The process is a program, not one of a process pool: a pool imports the user's main module again,
which runs a script that has no `__main__` guard twice. Run as `python -m bloatlab.figures.worker`; it ends with its input.
"""

import json
import signal
import sys

import vl_convert


def main() -> None:
    """Answers each line of the standard input until the input ends."""
    # Ctrl-C goes to the whole process group. The parent closes the input, which ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        answer = json.dumps(vl_convert.vegalite_to_svg(line))
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
