r"""What real Moses says of an ini: its features, in its order, by ``moses -show-weights``.

Moses reads the ini and its language models for that, but no phrase table.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from moses_integration.ini.edits import refuse_in_moses
from moses_integration.ini.feature_weights import FeatureLayout
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.real_moses.decoder import DecoderError
from phrasescore.runs import processes

_WEIGHTS = re.compile(r"([^ =]+)= (.+)")
_VERSION = re.compile(r"Moses code version[^\n]*\n\s*(\S+)")
_SECONDS = 600
_LAST_WORDS = 3
_CAPTURED = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


def weights_shown(text: str) -> dict[str, int]:
    r"""Read what ``moses -show-weights`` prints: how many values each tuned feature has, in order.

    >>> weights_shown("LM0= 0.5\nUnknownWordPenalty0 UNTUNEABLE\nT0= 0.1 UNTUNEABLECOMPONENT\n")
    {'LM0': 1, 'T0': 2}
    """
    matches = [_WEIGHTS.fullmatch(line.strip()) for line in text.split("\n")]
    return {match[1]: len(match[2].split()) for match in matches if match}


def tuned_sizes(ini: MosesIni) -> dict[str, int]:
    """Return how many values each tuned feature of an ini has, in the order of n-best lists.

    Raises:
        IniError: Its features cannot be told.
    """
    return {
        feature.name: feature.components
        for feature in FeatureLayout.of(ini).features
        if any(feature.tuneable)
    }


def check_features(binary: Path, ini: MosesIni, path: str | Path) -> None:
    """See whether Moses has the features that we take an ini to have, in the same order.

    Args:
        binary: The program.
        ini: The system.
        path: Its file, as Moses is to read it.

    Raises:
        DecoderError: Moses could not be run or refuses the ini, or its features are others.
        IniError: The features of the ini cannot be told, or one is not of Moses.
    """
    refuse_in_moses(ini)
    command = [str(binary), "-f", str(path), "-show-weights"]
    try:
        process = processes.run(command, timeout=_SECONDS, **_CAPTURED)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DecoderError(
            f"{binary} cannot be run: {error}", remedy="give another moses binary"
        ) from None
    if process.returncode:
        said = process.stderr.decode("utf-8", "replace").strip().split("\n")[-_LAST_WORDS:]
        raise DecoderError(
            f"Moses ended with status {process.returncode}: {' / '.join(said)}",
            path=path,
            remedy=f"run it: {' '.join(command)}",
        )
    found = weights_shown(process.stdout.decode("utf-8", "surrogateescape"))
    expected = tuned_sizes(ini)
    if list(found.items()) != list(expected.items()):
        raise DecoderError(
            f"Moses has the features {_listed(found)}, expected {_listed(expected)}",
            path=path,
            remedy="this Moses is of another version; use one of 2017 or later",
        )


def version_of(binary: Path) -> str:
    """Return what Moses calls itself, or nothing if it does not say."""
    process = processes.run([str(binary), "--version"], **_CAPTURED)
    match = _VERSION.search((process.stdout + process.stderr).decode("utf-8", "replace"))
    return match[1] if match else ""


def _listed(sizes: Mapping[str, int]) -> str:
    return " ".join(f"{name}({size})" for name, size in sizes.items())
