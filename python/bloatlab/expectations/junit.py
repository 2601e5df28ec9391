"""Judged expectations as JUnit XML, which CI systems read.

The elements and attributes are those of the schema of Jenkins' xUnit plugin (`junit-10.xsd`), which GitLab, Azure and
the usual GitHub actions accept.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from bloatlab.errors import StoreError
from bloatlab.expectations.checking import Checked
from bloatlab.expectations.judging import Judged, PointJudged
from bloatlab.expectations.wording import measured_text, point_text
from bloatlab.store.files import write_whole
from bloatlab.visible import visible

NAME = "bloatlab check"


def write(path: Path, checked: Sequence[Checked]) -> None:
    """Writes a file with a suite for each scenario or plan, and a case for each expectation at each point.

    Raises:
        StoreError: The file cannot be written.
    """
    try:
        write_whole(path, lambda temporary: temporary.write_bytes(document(checked)))
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error


def document(checked: Sequence[Checked]) -> bytes:
    """The XML document, UTF-8."""
    suites = [_suite(of) for of in checked]
    counts = {key: str(sum(int(suite.attrib[key]) for suite in suites)) for key in ("tests", "failures", "errors")}
    seconds = f"{sum(of.summary.wall_s for of in checked):.3f}"
    root = ElementTree.Element("testsuites", {"name": NAME, **counts, "time": seconds})
    root.extend(suites)
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _suite(checked: Checked) -> ElementTree.Element:
    cases = [(judged, point) for judged in checked.judged for point in judged.points]
    points = [point for _, point in cases]
    suite = ElementTree.Element(
        "testsuite",
        {
            "name": visible(str(checked.file)),
            "tests": str(len(cases)),
            "failures": str(sum(point.measured is not None and not point.holds for point in points)),
            "errors": str(sum(point.measured is None for point in points)),
            "skipped": "0",
            "time": f"{checked.summary.wall_s:.3f}",
        },
    )
    suite.extend(_case(checked.file, judged, point) for judged, point in cases)
    return suite


def _case(file: Path, judged: Judged, point: PointJudged) -> ElementTree.Element:
    at = point_text(judged, point)
    title = judged.expectation.title + (f" ({at})" if at else "")
    case = ElementTree.Element("testcase", {"name": visible(title), "classname": visible(file.stem)})
    if point.measured is None:
        ElementTree.SubElement(case, "error", {"message": visible(point.failure), "type": "run"})
        return case
    said = visible(
        f"{judged.expectation.metric}: {measured_text(judged, point)}; allowed: {judged.expectation.allowed}"
    )
    if not point.holds:
        failure = ElementTree.SubElement(case, "failure", {"message": said, "type": "expectation"})
        failure.text = said
    else:
        ElementTree.SubElement(case, "system-out").text = said
    return case
