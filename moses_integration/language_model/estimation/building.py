"""The language model of a system: lmplz where it is on PATH, our own estimator elsewhere.

Both give the same file, byte for byte; lmplz can also sort what does not fit in memory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from moses_integration.language_model.arpa import open_arpa
from moses_integration.language_model.estimation.kneser_ney import check_order, write_arpa
from moses_integration.language_model.estimation.ngram_counting import (
    SPECIAL_WORDS,
    no_words,
    read_corpus,
)
from phrasescore.errors import CorpusError, MissingDependencyError, SettingsError, visible
from phrasescore.runs import processes
from phrasescore.runs.final_names import open_output, own_file, scratch_folder
from phrasescore.table.input_files import open_input

ON_PATH = "auto"
OWN = "own"
_MEMORY = "1G"  # for lmplz's sorting, whose default is most of the machine
_BLOCK = 1 << 20


@dataclass(frozen=True)
class BuiltLanguageModel:
    """What was built, for a report.

    Attributes:
        estimator: ``lmplz`` with its path, or ``own``.
        types: n-grams in the model, order 1 first.
    """

    estimator: str
    types: tuple[int, ...]


def build_language_model(
    corpus: str | Path, order: int, output: str | Path, *, lmplz: str = ON_PATH
) -> BuiltLanguageModel:
    """Estimate an interpolated modified Kneser-Ney model and write it as ARPA.

    Args:
        corpus: One tokenised sentence per line; plain or gzip.
        order: The longest n-gram, 1 to 6 words.
        output: The ARPA file; a name ending in ``.gz`` is compressed.
        lmplz: The program to use: ``auto`` for lmplz if it is on PATH and our estimator if not,
            ``own`` for our estimator, anything else is the program's path.

    Raises:
        SettingsError: The order is out of range.
        CorpusError: The corpus holds no word, or one of ``<s>``, ``</s>`` and ``<unk>``.
        MissingDependencyError: The program named is not there.
    """
    check_order(order)
    program = find_lmplz(lmplz)
    if program is not None:
        return BuiltLanguageModel(f"lmplz ({program})", _run_lmplz(program, corpus, order, output))
    return BuiltLanguageModel(OWN, write_arpa(corpus, order, output).types)


def find_lmplz(lmplz: str) -> str | None:
    """Return the path of the program that is asked for, or ``None`` for our own estimator.

    Args:
        lmplz: As in :func:`build_language_model`.

    Raises:
        MissingDependencyError: The program named is not there.
    """
    program = None if lmplz == OWN else shutil.which("lmplz" if lmplz == ON_PATH else lmplz)
    if program is None and lmplz not in (ON_PATH, OWN):
        raise MissingDependencyError(
            f"there is no program {visible(os.fsencode(lmplz), 200)}",
            remedy="name the path of KenLM's lmplz, auto or own",
        )
    return program


def _run_lmplz(program: str, corpus: str | Path, order: int, output: str | Path) -> tuple[int, ...]:
    parent = Path(output).parent
    if not parent.is_dir():
        raise SettingsError("there is no such folder", path=parent, remedy="name another output")
    with scratch_folder(output) as folder:
        arpa, log = folder / "model.arpa", folder / "log"
        command = [program, "-o", str(order), "-S", _MEMORY, "-T", str(folder), "--arpa", str(arpa)]
        status = _feed([*command, "--discount_fallback"], corpus, log)
        if status != 0:
            read_corpus(corpus, order)  # which names the line if the text is to blame
            reason = _last_line(log.read_text("utf-8", "replace"))
            raise CorpusError(f"lmplz failed with status {status}: {reason}", path=corpus)
        with open_arpa(arpa) as model:
            types = model.counts
        if types[0] <= len(SPECIAL_WORDS):
            raise no_words(corpus)
        with arpa.open("rb") as whole, open_output(output) as target:
            shutil.copyfileobj(whole, target, _BLOCK)
    return types


def _feed(command: list[str], corpus: str | Path, log: Path) -> int:
    """Run ``command`` with the corpus as its input and its messages in ``log``."""
    with open_input(corpus) as text, own_file(log, os.O_TRUNC) as messages:
        process = processes.start(command, stdin=subprocess.PIPE, stderr=messages)
        try:
            assert process.stdin is not None
            with process.stdin as stdin:
                shutil.copyfileobj(text, stdin, _BLOCK)
        except BrokenPipeError:
            pass  # it stopped early; its status says why
        except BaseException:
            process.kill()
            raise
        finally:
            status = process.wait()
    return status


def _last_line(log: str) -> str:
    lines = [line.strip() for line in log.split("\n") if line.strip()]
    return lines[-1].rstrip(".") if lines else "it said nothing"
