"""The command line, a thin layer. Everything that it does is also available from Python."""

from __future__ import annotations

import os
import sys

EXTRAS = {
    **dict.fromkeys(("altair", "jinja2", "vl_convert"), "report"),
    **dict.fromkeys(("SALib", "numpy", "optuna", "scipy"), "analysis"),
}
"""The extra that installs a package."""


def main() -> None:
    """Entry point. Bad input gives one line and exit code 2, Ctrl-C exit code 130. There is never a traceback."""
    try:
        code = command(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = _say("interrupted", 130)
    except BrokenPipeError:
        # The reader of the pipe (such as head) has ended. Python would print another error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        # Standard output is a file on a full disk.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = _say(f"cannot write: {error.strerror or error}", 2)
    sys.exit(code)


def command(arguments: list[str]) -> int:
    """Runs one command and returns its exit code."""
    from cyclopts import CycloptsError

    from bloatlab.cli.app import app
    from bloatlab.cli.shell_app import with_separator
    from bloatlab.errors import BloatlabError

    try:
        result = app(with_separator(arguments), exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        return _say(f"{error} ({' '.join(['bloatlab help', *(error.command_chain or ())])})", 2)
    except BloatlabError as error:
        return _say(str(error), 2)
    except OSError:
        raise
    except ImportError as error:
        return _say(_missing(error), 2)
    except Exception as error:
        from bloatlab.language import ScenarioError

        if isinstance(error, ScenarioError):
            return _say(str(error), 2)
        if os.environ.get("BLOATLAB_DEBUG"):
            raise
        return _say(f"{type(error).__name__}: {error} (BLOATLAB_DEBUG=1 shows the traceback)", 1)
    return result if isinstance(result, int) else 0


def _missing(error: ImportError) -> str:
    package = (error.name or "").partition(".")[0]
    if extra := EXTRAS.get(package):
        return f"this needs {package}: pip install 'bloatlab[{extra}]'"
    return f"{error}"


def _say(text: str, code: int) -> int:
    from bloatlab.cli.console import complain

    complain(text)
    return code
