"""`python -m bloatlab`: the command line."""

from bloatlab.cli import main

main()
