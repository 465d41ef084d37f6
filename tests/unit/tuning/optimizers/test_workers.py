"""Threads that share jobs and their parts: results in order, errors passed on, nobody waits."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from tuning.optimizers.workers import Workers


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_results_come_in_order(threads: int, jobs: int) -> None:
    """Parts of parts of jobs, however many threads there are."""
    with Workers(threads) as workers:

        def job(number: int) -> list[tuple[int, int]]:
            return workers.share([partial(tuple, (number, part)) for part in range(4)])

        for _ in range(20):
            found = workers.run([partial(job, number) for number in range(jobs)])
            assert found == [[(number, part) for part in range(4)] for number in range(jobs)]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 5, 100])
def test_ranges_cover_everything_in_order(threads: int, count: int) -> None:
    """What is shared by ranges is done once, whoever does it."""
    things = list(range(count))
    with Workers(threads) as workers:
        (found,) = workers.run([lambda: workers.share_range(lambda part: things[part], count)])
    assert [thing for part in found for thing in part] == things


def test_one_job_has_both_threads() -> None:
    """Two parts that wait for each other come to an end."""
    both = threading.Barrier(2, timeout=30)
    with Workers(2) as workers:
        (found,) = workers.run([lambda: workers.share([both.wait, both.wait])])
    assert sorted(found) == [0, 1]


def test_errors_are_passed_on() -> None:
    """What a part raises, the caller sees, and the workers go on."""
    with Workers(2) as workers:
        with pytest.raises(ZeroDivisionError):
            workers.run([lambda: workers.share([lambda: 1, lambda: 1 // 0])])
        assert workers.run([lambda: 2, lambda: 3]) == [2, 3]


def test_nothing_to_do() -> None:
    """No jobs have no results, at once."""
    with Workers(2) as workers:
        assert workers.run([]) == []
