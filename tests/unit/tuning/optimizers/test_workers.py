"""Threads share jobs and parts of jobs: ordered results, errors, no deadlock."""

from __future__ import annotations

from functools import partial

import pytest

from tuning.optimizers.workers import Workers


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("jobs", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 5, 100])
def test_every_job_is_done_whole(threads: int, jobs: int, count: int) -> None:
    """Results are in order, and shared ranges cover all items once, for any threads."""
    with Workers(threads) as workers:

        def job(number: int) -> list[int]:
            done = [0] * count

            def work(part: slice) -> None:
                done[part] = [number + before for before in done[part]]

            workers.share(work, count)
            return done

        for _ in range(20):
            found = workers.run([partial(job, number) for number in range(1, jobs + 1)])
            assert found == [[number] * count for number in range(1, jobs + 1)]


def test_errors_are_passed_on() -> None:
    """The caller gets the error of a range, and the workers can be used again."""
    with Workers(2) as workers:
        for fails in range(3):

            def work(part: slice, fails: int = fails) -> None:
                assert not part.start <= fails < part.stop

            with pytest.raises(AssertionError):
                workers.run([partial(workers.share, work, 3)])
        assert workers.run([lambda: 2, lambda: 3]) == [2, 3]
