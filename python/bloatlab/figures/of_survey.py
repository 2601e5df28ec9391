"""The figures of aqm-survey, after its source's slides."""

from collections.abc import Callable

from bloatlab.figures import prepare
from bloatlab.figures import survey as surveyed
from bloatlab.figures.charts import survey
from bloatlab.figures.figure import Figure
from bloatlab.figures.network import Tables


def _along(axis: str) -> Callable[[Tables], bool]:
    return lambda tables: not surveyed.over(tables, axis).is_empty()


def _survey_left(tables: Tables) -> str:
    ccps = surveyed.runs(tables)["ccp"].n_unique() - survey.MOST
    queues = surveyed.left_out(tables)
    left = [
        f"The first {survey.MOST} congestion controls are shown; {ccps} more are in the table of runs."
        if ccps > 0
        else "",
        f"Queues with parameters of their own ({queues}) are in the table of runs." if queues else "",
    ]
    return " ".join(filter(None, left))


SURVEY = (
    Figure(
        "survey_base",
        "The base point",
        "Every metric of every queue, after slide 15: means over the runs, with a line from the lowest to the highest. The "
        "dashes are slide 15's values, with LEDBAT.",
        ("measured",),
        survey.survey_base,
        lambda tables: not survey.at_base(tables).is_empty(),
        of_runs=True,
        note=_survey_left,
    ),
    Figure(
        "survey_scores",
        "The score table",
        "After the slides' score table: places by TCP%, by F_TCP + F_CCP (F sum) and by D_TCP / D_CCP (D ratio), with "
        "what they are places by; the score is their sum, lower is better.",
        ("measured",),
        survey.survey_scores,
        lambda tables: not survey.score_rows(tables).is_empty(),
        of_runs=True,
        note=_survey_left,
    ),
    Figure(
        "survey_shares",
        "TCP's share against fairness",
        "After the slides' scatter: small marks are runs at the base point, large ones their means. An AQM that gives both "
        "classes the same priority is to the right at 50 %; low priority is kept above.",
        ("measured",),
        survey.survey_shares,
        lambda tables: prepare.has_values(survey.at_base(tables), "tcp_share"),
        of_runs=True,
        note=_survey_left,
    ),
    *(
        Figure(
            name,
            f"Every metric over {axis.upper()}",
            f"After slides 7 to 14 and 16 to 19: means over the runs, bars from the lowest to the "
            f"highest. What else the survey varies is held at the base point (CAP 4 Mbit/s, BUF 400, WLD 5).{more}",
            ("measured",),
            function,
            _along(axis),
            of_runs=True,
            note=_survey_left,
        )
        for name, axis, function, more in (
            ("survey_capacity", "cap", survey.survey_capacity, ""),
            (
                "survey_buffer",
                "buf",
                survey.survey_buffer,
                " DRR and SFQ come a second time where they have been run with BUF as their limit.",
            ),
            ("survey_workload", "wld", survey.survey_workload, ""),
        )
    ),
)
