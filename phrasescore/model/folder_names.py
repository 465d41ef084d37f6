"""What the files of a model folder are called, and where a model is while another replaces it."""

from __future__ import annotations

from pathlib import Path

from phrasescore.runs.parts import hidden

FORMAT = 1  # raised when a folder of today could no longer be read
CONFIG, WEIGHTS = "config.json", "model.safetensors"
SOURCE_VOCABULARY, TARGET_VOCABULARY = "source.vocabulary.txt", "target.vocabulary.txt"
TARGET_OUTSIDE = "target.outside.txt"
PROVENANCE, CURVES = "provenance.json", "curves.jsonl"
DIGESTS = "SHA256SUMS"
NEEDED = (CONFIG, WEIGHTS, TARGET_VOCABULARY, TARGET_OUTSIDE, PROVENANCE)
ALL = (*NEEDED, SOURCE_VOCABULARY, CURVES, DIGESTS)


def is_model_folder(folder: Path) -> bool:
    """Tell whether a folder looks like one that ``save_model`` wrote."""
    return (folder / CONFIG).is_file() and (folder / DIGESTS).is_file()


def replaced(folder: Path) -> Path:
    """Return where a model is from when another takes its place until that has its name."""
    return hidden(folder, "replaced")
