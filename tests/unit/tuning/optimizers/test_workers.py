"""Threads share jobs and parts of jobs: ordered results, errors, no deadlock."""

from __future__ import annotations

from functools import partial

import pytest

from tuning.optimizers.workers import Workers


def test_errors_are_passed_on() -> None:
    """The caller gets the error of a range, and the workers can be used again."""
    with Workers(2) as workers:
        for fails in range(3):

            def work(part: slice, fails: int = fails) -> None:
                assert not part.start <= fails < part.stop

            with pytest.raises(AssertionError):
                workers.run([partial(workers.share, work, 3)])
        assert workers.run([lambda: 2, lambda: 3]) == [2, 3]
