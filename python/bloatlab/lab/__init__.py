"""The lab in a browser tab: links to scenarios, a server on this machine, and the lab as one file."""

from bloatlab.lab.link import fragment
from bloatlab.lab.server import Server, built
from bloatlab.lab.single import single_file

__all__ = ["Server", "built", "fragment", "single_file"]
