"""A process that renders figures. Reads a Vega-Lite specification (JSON) per line and writes an SVG (a JSON string) per line.

The renderer holds the GIL and takes a third of a second to start. In a separate process it works while the next chart is
built. The process is not one of a process pool: a pool would import the user's main module again, which would run a script
without a `__main__` guard twice. Run it as `python -m bloatlab.figures.worker`. It ends when its input ends.
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
