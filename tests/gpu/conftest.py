"""Tests of what GPUs do; without one they are skipped."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder, and skip it where torch sees no GPU."""
    there = torch.cuda.is_available()
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.cuda)
            if not there:
                item.add_marker(pytest.mark.skip(reason="no CUDA device, or a torch without CUDA"))
