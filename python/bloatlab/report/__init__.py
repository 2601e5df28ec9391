"""The page of a results directory: one HTML file that opens offline."""

from importlib.util import find_spec

# Said at import, so that a caller can offer the extra that holds them.
for _package in ("jinja2", "vl_convert"):
    if find_spec(_package) is None:
        raise ModuleNotFoundError(f"a report needs {_package}", name=_package)

from bloatlab.report.page import make_report, page_of  # noqa: E402

__all__ = ["make_report", "page_of"]
