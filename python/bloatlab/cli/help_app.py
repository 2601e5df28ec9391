"""The commands `help` and `completion`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from bloatlab.cli.guide import EXAMPLES
from bloatlab.cli.options import Flag, OutFile

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

Shell = Literal["bash", "zsh", "fish"]


def _words_after(path: Sequence[str]) -> list[str]:
    """Names of the commands inside a command, such as `make` of `trace`."""
    names = [name.split() for name in EXAMPLES]
    return list(dict.fromkeys(words[len(path)] for words in names if words[: len(path)] == [*path] != words))


def _next_words(context: CompletionContext) -> list[str]:
    return _words_after(context["command"].raw_tokens)


def add_to(app: App) -> None:
    """Adds the commands."""

    @app.command(name="help")
    def help_(*command: Annotated[str, Parameter(completer=_next_words)]) -> None:
        """Shows the help of a command, or of all commands.

        Args:
            command: The command, such as run or trace make.
        """
        from bloatlab.errors import unknown

        chain, _, rest = app.parse_commands(list(command))
        if rest:
            raise unknown("command", rest[0], _words_after(chain))
        app.help_print(list(command))

    @app.command
    def completion(shell: Shell | None = None, *, out: OutFile = None, install: Flag = False) -> None:
        """Prints a script with which your shell completes commands, options, and names of experiments and figures.

        For bash: `source <(bloatlab completion bash)`. With --install, new shells complete without further steps.

        Args:
            shell: The shell [default: the one that runs this command].
            out: File to write [default: standard output].
            install: Save the script where the shell finds it, and add a line to its start-up file if it needs one.
                Prints the path.
        """
        from cyclopts.completion import ShellDetectionError, detect_shell

        from bloatlab.errors import BloatlabError, ParameterError

        if install and out is not None:
            raise ParameterError("completion: --install chooses the file itself; give --install or --out")
        try:
            found = shell or detect_shell()
        except ShellDetectionError as error:
            raise ParameterError("completion: cannot tell which shell this is; name it: bash, zsh or fish") from error
        try:
            if install:
                print(app.install_completion(shell=found, output=None))
            elif out is not None:
                out.write_text(app.generate_completion(shell=found), encoding="utf-8")
                print(out)
            else:
                print(app.generate_completion(shell=found))
        except OSError as error:
            raise BloatlabError(f"{error.filename or out}: {error.strerror or error}") from error
