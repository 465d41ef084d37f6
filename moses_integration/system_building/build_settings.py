"""The inputs, settings and folder of a new system, and the text of its moses.ini."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from moses_integration.system_building.corpus.text_preparation import (
    SETTINGS_FILE,
    SystemText,
    TextSettings,
    check_language,
)
from phrasescore.errors import SettingsError, did_you_mean
from phrasescore.runs.file_kinds import STANDARD_STREAM
from phrasescore.table.input_files import open_input

Aligner = Literal["fast_align", "hmm", "eflomal", "program:fast_align", "program:eflomal-align"]
ALIGNERS: tuple[Aligner, ...] = get_args(Aligner)
# Moses's decoder looks no longer phrases up
LONGEST_PHRASE = 20
_GIGABYTE = 1 << 30
# a phrase pair can be anywhere in a sentence pair: beyond this, a single one takes too much memory
MOST_WORDS = 2000
_TEMPLATE = """\
[input-factors]
0

[mapping]
0 T 0

[distortion-limit]
{distortion_limit}

[feature]
UnknownWordPenalty
WordPenalty
PhrasePenalty
PhraseDictionaryMemory name=TranslationModel0 num-features=4 path={phrase_table} \
input-factor=0 output-factor=0
LexicalReordering name=LexicalReordering0 num-features=6 type=wbe-msd-bidirectional-fe-allff \
input-factor=0 output-factor=0 path={reordering_table}
Distortion
KENLM name=LM0 factor=0 path={language_model} order={order}

[weight]
UnknownWordPenalty0= 1
WordPenalty0= -1
PhrasePenalty0= 0.2
TranslationModel0= 0.2 0.2 0.2 0.2
LexicalReordering0= 0.3 0.3 0.3 0.3 0.3 0.3
Distortion0= 0.3
LM0= 0.5
"""
# a blank ends a path, and # begins a comment anywhere
_FORBIDDEN = " \t#"


@dataclass(frozen=True)
class CleaningSettings:
    """The limits; the defaults are those that Moses's documentation uses.

    Args:
        longest_sentence: The most words of either side.
        ratio: How many times as many words as the other one side may have.
        longest_word: The most characters of a word.
    """

    longest_sentence: int = 80
    ratio: float = 9.0
    longest_word: int = 1000

    def __post_init__(self) -> None:
        if not 1 <= self.longest_sentence <= MOST_WORDS:
            raise SettingsError(
                f"the longest sentence would have {self.longest_sentence} words, expected 1 to "
                f"{MOST_WORDS:,}"
            )


@dataclass(frozen=True)
class BuildInputs:
    """The files a system is built from.

    Args:
        source: The source side, a sentence per line, plain or gzip.
        target: Its translation, line by line.
        alignment: A word alignment of the two, or ``None`` to compute one.
    """

    source: Path
    target: Path
    alignment: Path | None = None

    def __post_init__(self) -> None:
        for path in self.paths:
            if str(path) == STANDARD_STREAM:
                raise SettingsError(
                    "the text is read more than once, so it cannot come from standard input",
                    remedy="write it to a file first",
                )
            with open_input(path):  # which says what is wrong with it
                pass

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files that are given."""
        given = (self.source, self.target, self.alignment)
        return tuple(path for path in given if path is not None)


@dataclass(frozen=True)
class BuildSettings:
    """How to build; the defaults are those of Moses's training where it has one.

    Args:
        tokenize: The languages to tokenise source and target text for; ``None`` takes the text as
            it is.
        lowercase: Whether to lower-case the text.
        aligner: What computes the word alignment, where none is given.
        max_phrase_length: The most words of a phrase, on either side.
        lm_order: The order of the language model.
        lmplz: ``auto``, ``own`` or a path, see ``build_language_model``.
        distortion_limit: For the moses.ini; -1 is without limit.
        max_sentence_length: The most words of a sentence; longer pairs are left out.
        cleaning: Whether to leave out long, uneven and empty pairs.
        absolute_paths: Whether the moses.ini names its files by absolute paths.
        threads: How many work at the same time.
        memory: Bytes for sorting.
    """

    tokenize: tuple[str, str] | None = None
    lowercase: bool = False
    aligner: Aligner = "fast_align"
    max_phrase_length: int = 7
    lm_order: int = 3
    lmplz: str = "auto"
    distortion_limit: int = 6
    max_sentence_length: int = CleaningSettings.longest_sentence
    cleaning: bool = True
    absolute_paths: bool = False
    threads: int = 1
    memory: int = _GIGABYTE

    def __post_init__(self) -> None:
        if self.aligner not in ALIGNERS:
            known = ", ".join(ALIGNERS)
            raise SettingsError(
                f"there is no aligner {self.aligner}{did_you_mean(self.aligner, ALIGNERS)}",
                remedy=f"choose one of: {known}",
            )
        if not 1 <= self.max_phrase_length <= LONGEST_PHRASE:
            raise SettingsError(
                f"the longest phrase would have {self.max_phrase_length} words, expected 1 to "
                f"{LONGEST_PHRASE}"
            )
        if self.distortion_limit < -1:
            raise SettingsError(
                f"the distortion limit is {self.distortion_limit}, expected 0 or more, or -1 for "
                "no limit"
            )
        # here, so that reading the defaults does not compile an estimator
        from moses_integration.language_model.estimation.kneser_ney import check_order

        check_order(self.lm_order)
        for language in self.tokenize or ():
            check_language(language)
        CleaningSettings(self.max_sentence_length)

    @property
    def limits(self) -> CleaningSettings | None:
        """What pairs are left out, if any are."""
        return CleaningSettings(self.max_sentence_length) if self.cleaning else None

    @property
    def text(self) -> SystemText:
        """How the text of both sides is prepared; what is taken as it is, is not escaped either."""
        tokenize = self.tokenize is not None
        source, target = (
            TextSettings(language, tokenize, self.lowercase, escape=tokenize)
            for language in self.tokenize or (None, None)
        )
        return SystemText(source, target)


@dataclass(frozen=True)
class SystemFolder:
    """Where everything is in a system's folder."""

    path: Path

    def __post_init__(self) -> None:
        check_ini_path(self.path)
        if self.path.exists() and not self.path.is_dir():
            raise SettingsError(
                "a file, where the system's folder was expected",
                path=self.path,
                remedy="give the source text, the target text, and then a folder",
            )
        if self.path.is_dir() and any(self.path.iterdir()) and not self.work.is_dir():
            raise SettingsError(
                "the folder is not empty, and nothing in it says that it was built here",
                path=self.path,
                remedy="name a new or an empty folder",
            )

    @property
    def work(self) -> Path:
        """Intermediate files, and the stamps of what is done."""
        return self.path / ".build"

    @property
    def phrases(self) -> Path:
        """Phrase numbers and sorted runs."""
        return self.work / "phrases"

    @property
    def texts(self) -> tuple[Path, Path]:
        """The text the system is built from, prepared and cleaned."""
        return self.path / "corpus.source.gz", self.path / "corpus.target.gz"

    @property
    def alignment(self) -> Path:
        """Its word alignment."""
        return self.path / "aligned.grow-diag-final-and"

    @property
    def lexical_tables(self) -> tuple[Path, Path]:
        """p(source word | target word) and p(target word | source word)."""
        return self.path / "lex.e2f", self.path / "lex.f2e"

    @property
    def tables(self) -> tuple[Path, Path]:
        """The phrase table and the reordering table."""
        return self.path / "phrase-table.gz", self.path / "reordering-table.gz"

    @property
    def language_model(self) -> Path:
        """The language model of the target side."""
        return self.path / "lm.arpa.gz"

    @property
    def inis(self) -> tuple[Path, Path]:
        """The moses.ini, and how text for it is prepared."""
        return self.path / "moses.ini", self.path / SETTINGS_FILE


def check_ini_path(path: Path) -> None:
    """Make sure that Moses could read a path from an ini.

    Raises:
        SettingsError: It holds a blank or a number sign.
    """
    for character in _FORBIDDEN:
        if character in str(path):
            raise SettingsError(
                f"the folder's path holds {character!r}, which a moses.ini cannot express",
                path=path,
                remedy="name another folder",
            )


def default_ini(
    phrase_table: Path,
    reordering_table: Path,
    language_model: Path,
    *,
    order: int,
    distortion_limit: int,
) -> bytes:
    """Return the text of the ini.

    Args:
        phrase_table: As it is to stand in the ini; relative paths resolve against the current
            directory of whoever reads the ini, as in Moses.
        reordering_table: The same.
        language_model: The same.
        order: The order of the language model.
        distortion_limit: How far a phrase may jump; -1 is without limit.
    """
    return _TEMPLATE.format(
        phrase_table=phrase_table,
        reordering_table=reordering_table,
        language_model=language_model,
        order=order,
        distortion_limit=distortion_limit,
    ).encode()
