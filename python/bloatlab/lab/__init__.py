"""The lab in a browser tab: links to scenarios, and a server on this machine."""

from bloatlab.lab.link import fragment
from bloatlab.lab.server import Server, built

__all__ = ["Server", "built", "fragment"]
