"""A process that renders: a line of Vega-Lite (JSON) comes in, a line with the SVG (a JSON string) goes out.

The converter holds Python's global lock while it works and takes a third of a second to start; a process of its own
does both beside the building of the charts. Run as `python -m bloatlab.figures.worker`; it ends with its input.
"""

import json
import signal
import sys

import vl_convert


def main() -> None:
    """Answer each line of the standard input until it ends."""
    # Ctrl-C reaches the whole group; who started this one closes its input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        answer = json.dumps(vl_convert.vegalite_to_svg(line))
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
