"""Which process this is, as the environment says."""

from __future__ import annotations

import pytest

from phrasescore.errors import SettingsError
from phrasescore.training.optimization.process_group import join_group, rank_and_world


def test_one_process_and_several() -> None:
    """What torchrun sets, or nothing."""
    assert rank_and_world({}) == (0, 1)
    assert rank_and_world({"RANK": "", "WORLD_SIZE": ""}) == (0, 1)
    assert rank_and_world({"RANK": "3", "WORLD_SIZE": "4"}) == (3, 4)


@pytest.mark.parametrize(
    "environment",
    [
        {"RANK": "1"},
        {"RANK": "0"},
        {"WORLD_SIZE": "2"},
        *({"RANK": rank, "WORLD_SIZE": "2"} for rank in ("x", "-1", "2", "²", "1.0", "9" * 5000)),
        *({"RANK": "0", "WORLD_SIZE": world} for world in ("x", "0", "-2", "٢", "9" * 30)),
    ],
)
def test_what_cannot_be(environment: dict[str, str]) -> None:
    """A process that would wait for nobody, or write no model, does not begin."""
    with pytest.raises(SettingsError, match=r"RANK|WORLD_SIZE") as error:
        rank_and_world(environment)
    assert len(str(error.value)) < 300


def test_no_place_to_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an address there are no others."""
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SettingsError, match="cannot find each other"):
        join_group("gloo")
