"""`python -m bloatlab`: the command line."""

import sys

if not sys.flags.safe_path:
    # `-m` puts the working directory first on the path: a file `json.py` there would be taken for the library.
    del sys.path[0]

from bloatlab.cli import main

main()
