"""Makes text from a document or a store safe to show in a terminal, on a page or in a spreadsheet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_HIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)


def visible(text: str) -> str:
    r"""The text with control characters and bidirectional marks escaped (`\x1b`, `\u202e`); newlines and tabs stay."""
    # No printable character is hidden, and nearly every text is printable.
    return text if text.isprintable() else _HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


_UNIT = re.compile(r"(?<=\d) (?=(?:%|ms|s|[kMG]bit/s|[kMG]B)(?:\W|$))")


def with_units(text: str) -> str:
    """The text with a no-break space between each number and its unit, so that no line ends there."""
    return _UNIT.sub("\N{NO-BREAK SPACE}", text)


def one_line(text: str) -> str:
    """As `visible`, on one line."""
    return visible(" ".join(text.split()))


_FORMULA = r"^[=+\-@\t\r]"
_NUMBER = r"^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$"


def spreadsheet_safe(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with a `'` before each text that a spreadsheet would read as a formula; numbers stay numbers.

    Source: OWASP, CSV Injection.
    """
    import polars as pl

    def safe(column: str) -> pl.Expr:
        text = pl.col(column).cast(pl.String)
        formula = text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER)
        return pl.when(formula).then(pl.concat_str(pl.lit("'"), text)).otherwise(text).alias(column)

    texts = (pl.String, pl.Categorical, pl.Enum)
    return frame.with_columns(safe(name) for name, of in frame.schema.items() if isinstance(of, texts))
