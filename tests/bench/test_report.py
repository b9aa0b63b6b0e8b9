"""The lines that programs read: their form, and which way the ratios go."""

from tests.bench.measures import QUICK, Metric, Sizes, catalog
from tests.bench.report import lines, number
from tests.bench.rounds import Results

NAMES = ["callboard", "dramatiq-pg", "procrastinate"]


def results(**metrics: dict[str, list[float]]) -> Results:
    made = Results()
    for metric, contenders in metrics.items():
        for contender, values in contenders.items():
            for value in values:
                made.add(metric, contender.replace("_", "-"), value)
    return made


def rows(sizes: Sizes) -> list[Metric]:
    return [metric for measurement in catalog(sizes) for metric in measurement.metrics]


def test_rates_compare_upwards_turn_by_turn() -> None:
    found = results(drain={"callboard": [4000, 6000, 5000], "dramatiq_pg": [500, 600, 250], "procrastinate": [527]})
    assert list(lines(rows(QUICK), NAMES, found)) == [
        "bench drain callboard=5000 dramatiq-pg=500 ratio=10.00",
        "bench drain callboard=5000 procrastinate=527 ratio=9.49",
    ]


def test_latency_and_memory_compare_downwards() -> None:
    found = results(
        start_p50={"callboard": [2.0], "dramatiq_pg": [3.5]},
        memory={"callboard": [60.0], "procrastinate": [45.0]},
    )
    assert list(lines(rows(QUICK), NAMES, found)) == [
        "bench start_p50 callboard=2.00 dramatiq-pg=3.50 ratio=1.75",
        "bench memory callboard=60.0 procrastinate=45.0 ratio=0.75",
    ]


def test_claims_compare_with_the_small_table() -> None:
    found = results(
        claim_1000_queued={"callboard": [1.5]},
        claim_1000000_queued={"callboard": [1.8]},
        claim_1000000_finished={"callboard": [1.5]},
    )
    assert list(lines(rows(Sizes()), NAMES, found)) == [
        "bench claim_1000000_queued callboard=1.80 callboard_1000=1.50 ratio=0.83",
        "bench claim_1000000_finished callboard=1.50 callboard_1000=1.50 ratio=1.00",
    ]


def test_who_has_no_batches_gets_no_line() -> None:
    found = results(submit_batch={"callboard": [30000], "procrastinate": [10200]})
    assert list(lines(rows(QUICK), NAMES, found)) == [
        "bench submit_batch callboard=30000 procrastinate=10200 ratio=2.94"
    ]


def test_numbers_keep_three_digits() -> None:
    assert [number(value) for value in (12345.6, 99.94, 1.234)] == ["12346", "99.9", "1.23"]
