"""Whether a dev set goes with the system it is to tune: looked at before the first decoding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from moses_integration.doctor.findings import Finding
from moses_integration.doctor.texts import Text
from moses_integration.doctor.words import MOST_UNKNOWN, TextWords, language_findings
from moses_integration.ini.feature_kinds import TEXT_TABLE_KINDS
from moses_integration.ini.model_files import find_model_file
from moses_integration.ini.moses_ini import MosesIni
from phrasescore.errors import CorpusError, InputError
from phrasescore.table.input_files import open_input
from phrasescore.table.phrase_table import PIPES, phrase_tokens
from phrasescore.words.known_words import first_words
from tuning.loop.outer_loop import Say


def check_dev_set(
    ini: MosesIni, filtered: MosesIni, source: str | Path, references: Sequence[str], say: Say
) -> None:
    """Compare a dev set with the phrase tables, and warn of what the doctor would find.

    Args:
        ini: The system.
        filtered: The same with the lines that are for this text.
        source: The text to translate.
        references: Its translations.
        say: Takes warnings.

    Raises:
        CorpusError: The tables know less than half of the tokens of a text, so that no weights
            could be found.
    """
    tables, whole_tables = _text_tables(filtered), _text_tables(ini)
    if not (tables and whole_tables):
        return
    sources, targets = _words_of(tables)
    whole = whole_tables[0]
    # a filtered table has no other spelling of a word; the beginning of the whole one may
    spellings = {side: _surfaces(words) for side, words in first_words(whole).items()}
    for path, known, others, owner, effect in (
        (source, sources, spellings["source"], "the phrase table", "they are copied as they are"),
        *(
            (each, targets, spellings["target"], "the target side of the phrase table",
             "no translation has them")
            for each in references
        ),
    ):  # fmt: skip
        words = TextWords(Text.read(path).tokens(), str(path))
        knows = known.__contains__
        findings = list(words.findings(knows, owner, effect, others.__contains__))
        if known is sources:
            findings = [*language_findings(words, knows, whole), *findings]
        _report(findings, words.unknown_share(knows) > MOST_UNKNOWN, say)


def _report(findings: Iterable[Finding], refused: bool, say: Say) -> None:
    bad = [each for each in findings if each.severity != "note"]
    if refused and bad:
        worst = next(each for each in bad if each.severity == "error")
        raise CorpusError(worst.what, path=worst.where, remedy=worst.remedy)
    for each in bad:
        say(f"warning: {each.where}: {each.what}; {each.remedy}")


def _text_tables(ini: MosesIni) -> list[Path]:
    found = []
    for line in ini.features:
        if line.kind in TEXT_TABLE_KINDS:
            try:
                path = find_model_file(line.options.get("path", ""), ini=ini.path).path
            except InputError:
                continue  # said when it is decoded
            if path.is_file():  # a pipe cannot be read again
                found.append(path)
    return found


def _words_of(tables: Iterable[Path]) -> tuple[set[bytes], set[bytes]]:
    """Return words that have a phrase pair of their own, and words of targets."""
    sources: set[bytes] = set()
    targets: set[bytes] = set()
    for path in tables:
        with open_input(path) as stream:
            for line in stream:
                source, target = map(phrase_tokens, line.split(PIPES, 2)[:2])
                if len(source) == 1:
                    sources.update(source)
                targets.update(target)
    return _surfaces(sources), _surfaces(targets)


def _surfaces(tokens: Iterable[bytes]) -> set[bytes]:
    """Return the first factor of each token, which is what is compared."""
    return {token.split(b"|", 1)[0] or token for token in tokens}
