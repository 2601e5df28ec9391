"""What figures are computed from: limits, thinned series, histograms, ellipses, colours, axes and places of labels."""

import math

import polars as pl
import pytest

from bloatlab.figures import contenders, histogram, palette, parts, prepare, sweep
from bloatlab.figures import vega_lite as vl
from bloatlab.figures.charts.goodput_delay import pareto
from bloatlab.figures.once import SharedTables, once
from bloatlab.figures.source import with_limits


def test_limits_come_from_the_plan():
    links = pl.DataFrame({"link": ["bottleneck", "reverse"]})
    dumbbell = {
        "rate": "10Mbit/s",
        "rtt": "40ms",
        "reverse_rate": "1Mbit/s",
        "queue": {"kind": "fifo", "limit": "80p"},
        "reverse_queue": {"kind": "fifo", "limit": "10kB"},
    }
    scenario = {"duration": "1s", "dumbbell": dumbbell, "flows": [{}]}
    assert with_limits(links, scenario)["limit_packets"].to_list() == [80.0, None]
    # A limit that holds for a part of the run is not drawn as if it held all the time.
    rate = {"at": "500ms", "key": "dumbbell.rate", "value": "5Mbit/s"}
    assert with_limits(links, {**scenario, "timeline": [rate]})["limit_packets"].to_list() == [80.0, None]
    queue = {"at": "500ms", "key": "dumbbell.queue.limit", "value": "40p"}
    assert with_limits(links, {**scenario, "timeline": [rate, queue]})["limit_packets"].to_list() == [None, None]
    # The store may hold a document of another version.
    assert with_limits(links, {**scenario, "unknown_key": 1})["limit_packets"].to_list() == [None, None]


def test_thinning_keeps_extremes_and_order():
    series = pl.DataFrame({"x": range(10_000), "y": [abs(i % 100 - 50) for i in range(10_000)]}).cast(pl.Float64)
    series = series.with_columns(pl.when(pl.col("x") == 5005).then(999.0).otherwise("y").alias("y"))
    thin = prepare.thin(series, "x", "y")
    assert thin.height <= 600
    assert thin["y"].max() == 999
    assert thin["y"].min() == 0
    assert thin["x"].is_sorted()


def test_thinning_keeps_gaps():
    series = pl.DataFrame({"x": range(6000)}).with_columns(
        pl.when(pl.col("x").is_between(2000, 4000)).then(None).otherwise(1.0).alias("y")
    )
    assert prepare.thin(series, "x", "y")["y"].null_count() >= 90


def test_rounding_keeps_time_and_drops_what_is_not_finite():
    frame = pl.DataFrame({"time_s": [1234.5678], "y": [1234.5678], "z": [float("inf")]})
    assert prepare.values(frame).values == [{"time_s": 1234.568, "y": 1235.0, "z": None}]


def test_rebinning_keeps_the_weight():
    buckets = pl.DataFrame(
        {"name": ["a"] * 3, "lower": [0.0, 1.0, 5.0], "upper": [1.0, 5.0, 5.0], "weight": [1.0, 6, 3]}
    )
    for width in (0.5, 1.0, 3.0):
        assert histogram.rebinned(buckets, "name", width)["share"].sum() == pytest.approx(1)


def test_tails_start_at_one_and_fall():
    buckets = pl.DataFrame(
        {"name": ["a"] * 3, "lower": [0.0, 1.0, 2.0], "upper": [1.0, 2.0, 4.0], "weight": [90.0, 9, 1]}
    )
    tail = histogram.tails(buckets, "name")
    assert tail["value"].to_list() == [0, 1, 2]
    assert tail["above"].to_list() == pytest.approx([1, 0.1, 0.01])


def test_the_ellipse_of_known_samples():
    xs, ys = pl.Series([0.0, 2.0, 1.0, 1.0]), pl.Series([1.0, 1.0, 0.0, 2.0])
    curve = parts.ellipse(xs, ys)
    radius = (2 / 3) ** 0.5
    assert all((x - 1) ** 2 + (y - 1) ** 2 == pytest.approx(radius**2) for x, y in curve)
    assert parts.ellipse(xs.head(2), ys.head(2)) == []
    assert parts.ellipse(pl.Series([1.0] * 5), pl.Series([2.0] * 5)) == []
    slanted = parts.ellipse(pl.Series([0.0, 1.0, 2.0, 3.0]), pl.Series([0.0, 1.0, 2.0, 3.0]))
    assert all(x == pytest.approx(y) for x, y in slanted)


def test_colours_are_stable_and_distinct():
    few, more = palette.assign(["cubic", "bbr"]), palette.assign(["aaa", "bbr", "cubic", "newreno", "zzz"])
    assert few["cubic"] == more["cubic"]
    assert len(set(more.values())) == 5


@pytest.mark.parametrize(
    "colours",
    [palette.assign, palette.in_order, lambda names: dict(zip(names, contenders.looks(names).colours, strict=True))],
)
def test_no_two_of_25_names_share_a_colour(colours):
    names = ["newreno", "cubic", "reno", "bbr", *(str(index) for index in range(21))]
    assert len(set(colours(names).values())) == 25


def test_values_without_a_common_unit_keep_their_order():
    mixed = sweep.axis_of("qlen", sweep.in_order(pl.Series(["80p", "20kB", "80p"])))
    assert (mixed.values, mixed.numbers) == (["80p", "20kB"], [])
    assert sweep.in_order(pl.Series(["16Mbit/s", "4Mbit/s"])) == ["4Mbit/s", "16Mbit/s"]


def test_metrics_that_are_missing_stay_missing():
    metrics = pl.DataFrame(
        {
            "run_id": ["a"],
            "scope": ["link"],
            "entity": ["l"],
            "metric": ["mean_sojourn"],
            "value": [3.0],
            "unit": ["ms"],
        }
    )
    [row] = sweep.metrics_by_run(metrics).to_dicts()
    assert row["delay_ms"] == 3.0
    assert row["throughput_mbps"] is None
    assert row["retransmissions"] is None


def test_the_pareto_front_keeps_who_is_beaten_by_none():
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0, 3.0, 2.0], "y": [5.0, 7.0, 6.0, 9.0, 7.0]})
    # The third is beaten by the second in both; the equal second and fifth beat each other in neither.
    assert pareto(frame) == [True, True, False, True, True]


def test_an_ellipse_by_hand():
    # Variances 4 and 1 without covariance: half axes 2 and 1 about the mean (3, 5).
    xs, ys = pl.Series([1.0, 3.0, 5.0, 3.0]), pl.Series([5.0, 5.0, 5.0, 5.0])
    scale = math.sqrt(8 / 3)
    curve = parts.ellipse(xs, ys, points=4)
    assert curve[0] == pytest.approx((3 + scale, 5))
    assert curve[1] == pytest.approx((3, 5))
    assert curve[2] == pytest.approx((3 - scale, 5))
    # Perfectly correlated: the ellipse is a stroke along the diagonal, one standard deviation long each way.
    curve = parts.ellipse(pl.Series([0.0, 1.0, 2.0]), pl.Series([0.0, 1.0, 2.0]), points=4)
    assert curve[0] == pytest.approx((2, 2))
    assert curve[1] == pytest.approx((1, 1), abs=1e-6)
    # Covariance 1 and variances 2 and 2: half axes sqrt(3) and 1, turned by 45 degrees.
    curve = parts.ellipse(pl.Series([-1.0, 1.0, 2.0, -2.0]) * 1.0, pl.Series([1.0, -1.0, 2.0, -2.0]) * 1.0, points=4)
    assert math.hypot(*curve[0]) == pytest.approx(math.sqrt(16 / 3))
    assert math.hypot(*curve[1]) == pytest.approx(math.sqrt(4 / 3))


def test_labels_stand_clear_of_each_other():
    points = [(100.0, 100.0), (103.0, 100.0), (100.0, 104.0), (380.0, 10.0)]
    names = ["fq_codel", "codel", "pie", "a_long_name_at_the_edge"]
    spots = contenders.label_spots(points, names, 400, 200)
    boxes = [
        (x, y - contenders.LINE / 2, x + parts.LETTER * len(name), y + contenders.LINE / 2)
        for (x, y), name in zip(spots, names, strict=True)
    ]
    for index, a in enumerate(boxes):
        for b in boxes[index + 1 :]:
            assert min(a[2], b[2]) <= max(a[0], b[0]) or min(a[3], b[3]) <= max(a[1], b[1])
    assert boxes[3][2] <= 440


def test_overlaps_of_labels_add_up():
    box = (0.0, 0.0, 10.0, 4.0)
    beside, touching, corner, inside = (20, 0, 30, 4), (10, 0, 20, 4), (8, 3, 20, 20), (2, 1, 4, 2)
    assert contenders._overlap(box, [beside, touching]) == 0
    assert contenders._overlap(box, [corner, beside, inside, inside]) == 2 * 1 + 2 + 2


def test_a_label_without_a_place_near_its_mark_is_left_to_the_legend():
    points, names = [(100.0, 100.0)] * 20 + [(300.0, 50.0)], [f"name_{place}" for place in range(20)] + ["apart"]
    spots = contenders.near_spots(points, names, 400, 200)
    assert spots[0] is not None
    assert spots[-1] is not None
    assert 0 < spots.count(None) < 20
    near = [spot for spot in spots[:20] if spot is not None]
    assert all(abs(middle - 100) <= 12 + contenders.NEAR_RINGS * contenders.LINE for _, middle in near)
    frame = pl.DataFrame({"contender": names, "x": [2.5] * 20 + [7.5], "y": [5.0] * 20 + [2.5]})
    across, down = contenders.Axis(0.0, 10.0, 400), contenders.Axis(0.0, 10.0, 200)
    x, y = vl.field("x:Q"), vl.field("y:Q")
    drawn = {
        every: contenders.named(frame, across, down, x, y, every=every)[-1]["data"].columns["contender"]
        for every in (True, False)
    }
    assert drawn[True] == names
    assert drawn[False] == [name for name, spot in zip(names, spots, strict=True) if spot is not None]


def test_a_place_names_the_axis_of_a_number_and_of_a_short_value():
    assert (
        contenders.place("channel=static, rlc=um, loss=0.02, cca=bbr") == "static, RLC mode um, random loss of 2 %, bbr"
    )
    # All values of an axis are named alike.
    assert contenders.place("direction=down, target=rtt") == "direction down, RTT"
    assert contenders.place("direction=up, target=loss") == "direction up, loss"
    assert contenders.place("") == ""


def test_pixels_and_values_of_an_axis_go_both_ways():
    for axis in (
        contenders.Axis(1.0, 100.0, 300, log=True, reverse=True),
        contenders.Axis(0.0, 10.0, 300, reverse=True),
        contenders.Axis(2.0, 4.0, 300),
    ):
        assert axis.value(axis.pixel(3.0)) == pytest.approx(3.0)
    assert contenders.Axis(1.0, 100.0, 300, log=True).pixel(10.0) == pytest.approx(150)


def test_shared_tables_are_computed_from_once():
    calls = []

    @once
    def heights(tables):
        calls.append(1)
        return {name: frame.height for name, frame in tables.items()}

    plain = {"flows": pl.DataFrame({"flow": ["a", "b"]})}
    shared = SharedTables(plain)
    assert heights(shared) is heights(shared)
    assert heights(shared) == heights(plain) == heights(SharedTables(plain))
    assert len(calls) == 3
