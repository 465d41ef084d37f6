"""The inputs, settings, folder and record of a new system, and the text of its moses.ini."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from moses_integration.ini.model_files import absolute_if_possible
from moses_integration.text import preparation
from moses_integration.text.tokenising import check_language
from phrasescore.closed_settings import Between, check_bounds
from phrasescore.errors import CorpusError, SettingsError, did_you_mean
from phrasescore.runs.file_kinds import STANDARD_STREAM
from phrasescore.runs.ledger import check_owner
from phrasescore.runs.results import Record
from phrasescore.table.input_files import open_input, read_lines

Case = Literal["truecase", "lower", "keep"]
CASES: tuple[Case, ...] = get_args(Case)
Aligner = Literal["fast_align", "eflomal", "monotone"]
ALIGNERS: tuple[Aligner, ...] = get_args(Aligner)
DEFAULT_ALIGNERS: tuple[Aligner, ...] = ("fast_align", "eflomal")
# Moses's decoder does not look up longer phrases
LONGEST_PHRASE = 20
_MEMORY = 1 << 29
# in longer sentences, the phrase pairs of a single sentence pair could take too much memory
MAX_WORDS = 2000
OR_LONGER = ", or raise --max-sentence-length"  # advice about long lines, for `build` alone
HIGHEST_ORDER = 20  # the maximum order of the language model
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
{features}
[weight]
UnknownWordPenalty0= 1
WordPenalty0= -1
PhrasePenalty0= 0.2
TranslationModel0= 0.2 0.2 0.2 0.2
{weights}"""
_REORDERING = """\
LexicalReordering name=LexicalReordering0 num-features=6 type=wbe-msd-bidirectional-fe-allff \
input-factor=0 output-factor=0 path={reordering_table}
Distortion
"""
_REORDERING_WEIGHTS = """LexicalReordering0= 0.3 0.3 0.3 0.3 0.3 0.3
Distortion0= 0.3
"""
_LANGUAGE_MODEL = "KENLM name=LM{number} factor=0 path={path} order={order}\n"
_LANGUAGE_MODEL_WEIGHT = 0.5  # the sum of the weights of all language models
# the default options if every character is a word
CHARACTER_DEFAULTS: dict[str, Any] = {"max_phrase_length": 10, "lm_order": 10}


@dataclass(frozen=True)
class BuildRecord(Record):
    """The record of ``build``: the seconds and counts of each step, and the provenance."""

    kind: ClassVar[str] = "build"
    steps: dict[str, dict[str, object]]
    provenance: dict[str, object]


@dataclass(frozen=True)
class BuildInputs:
    """The files from which a system is built.

    Args:
        source: The source side, a sentence per line, plain or gzip.
        target: The target side, with the translation of each line of the source side.
        alignments: Word alignments of the two sides.
        language_model_texts: More texts of the target language; a separate language model is
            estimated from each.
    """

    source: Path
    target: Path
    alignments: tuple[Path, ...] = ()
    language_model_texts: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        for path in (*self.paths, *self.language_model_texts):
            if str(path) == STANDARD_STREAM:
                raise SettingsError(
                    "the text is read more than once, so it cannot come from standard input",
                    remedy="write it to a file first",
                )
            with open_input(path):  # raises an error if the file cannot be read
                pass
        if self.source.samefile(self.target):
            raise SettingsError(
                f"{self.source} is both sides of the parallel text", remedy="name two texts"
            )
        for path in self.language_model_texts:  # read only after the word alignment
            if not any(line.strip() for line in read_lines(path)):
                raise CorpusError("the text contains no sentence", path=path)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The given files of the parallel text."""
        return (self.source, self.target, *self.alignments)


@dataclass(frozen=True)
class BuildSettings:
    """Settings of a build; if Moses's training has the same setting, the default is Moses's.

    Args:
        tokenize: The languages of source and target for the tokeniser; ``None`` if the text is not
            to be tokenised.
        tokenizer: The tokeniser; with ``unicode``, the text is also converted to Unicode NFC.
        case: ``truecase`` to write words as they usually are inside a sentence, ``lower`` to
            lower-case the text, ``keep`` to change nothing.
        characters: Whether every character is a word.
        reordering: Whether phrases may be reordered; otherwise there is no reordering table.
        aligners: The word aligners; with ``None``, no aligner if alignments are given, otherwise
            ``monotone`` for characters and ``DEFAULT_ALIGNERS`` for words.
        max_phrase_length: The maximum number of words of a phrase, on either side.
        lm_order: The order of the language model.
        distortion_limit: The distortion limit in the moses.ini; -1 for no limit.
        max_sentence_length: The maximum number of words of a sentence; longer pairs are left out.
        cleaning: Whether to leave out long, uneven and empty pairs.
        threads: The number of threads.
        memory: The number of bytes for sorting.
    """

    tokenize: tuple[str, str] | None = None
    tokenizer: preparation.TokenizerName = "unicode"
    case: Case = "keep"
    characters: bool = False
    reordering: bool = True
    aligners: tuple[Aligner, ...] | None = None
    max_phrase_length: Annotated[int, Between(1, LONGEST_PHRASE)] = 7
    lm_order: Annotated[int, Between(1, HIGHEST_ORDER)] = 3
    distortion_limit: Annotated[int, Between(-1, 10_000)] = 6
    # the default is the value in Moses's documentation
    max_sentence_length: Annotated[int, Between(1, MAX_WORDS)] = 80
    cleaning: bool = True
    threads: int = 1
    memory: int = _MEMORY

    def __post_init__(self) -> None:
        aligners = self.aligners or ()
        for name in aligners:
            if name not in ALIGNERS:
                raise SettingsError(
                    f"there is no aligner {name}{did_you_mean(name, ALIGNERS)}",
                    remedy=f"choose among {', '.join(ALIGNERS)}; --alignment takes the links of "
                    "another program, such as MGIZA",
                )
            if aligners.count(name) > 1:
                raise SettingsError(f"the aligner {name} is given twice", remedy="give it once")
        check_bounds(self)
        for language in self.tokenize or ():
            check_language(language)
        self.text  # noqa: B018 - raises an error if settings of the text exclude each other

    @property
    def text(self) -> preparation.SystemText:
        """The text settings of both sides; tokenised text and separate characters are escaped."""
        tokenize = self.tokenize is not None
        lower, truecase = self.case == "lower", self.case == "truecase"
        keeps_words = tokenize and self.tokenizer == "unicode"
        common = preparation.TextSettings(
            tokenize=tokenize,
            lowercase=lower,
            escape=tokenize or self.characters,
            characters=self.characters,
            tokenizer=self.tokenizer,
            form="NFC" if keeps_words else None,
            truecase=truecase,
            apostrophes=keeps_words,
        )
        source, target = (replace(common, language=code) for code in self.tokenize or (None, None))
        return preparation.SystemText(source, target)


class SystemFolder:
    """The paths in the folder of a system.

    Attributes:
        path: The folder.
        work: Intermediate files, and the stamps of finished steps.
        phrases: The numbers of phrases, and sorted files of phrase pairs.
        texts: The prepared and cleaned text of both sides.
        kept: Whether each sentence pair of the given texts was kept, as an array.
        lexical_tables: p(source word | target word) and p(target word | source word).
        tables: The phrase table and the reordering table.
        language_models: The language models of the target side and of further texts.
        inis: The moses.ini, and the record of the text preparation.
        truecase_models: The usual case of the words of each side.

    Raises:
        SettingsError: No system can be built in this folder.
    """

    def __init__(self, path: Path, language_models: int = 1) -> None:
        self.path = path
        self.work = path / ".build"
        self.phrases = self.work / "phrases"
        self.texts = path / "corpus.source.gz", path / "corpus.target.gz"
        self.kept = self.work / "kept.npy"
        self.lexical_tables = path / "lex.e2f", path / "lex.f2e"
        self.tables = path / "phrase-table.gz", path / "reordering-table.gz"
        more = (path / f"lm{number}.arpa.gz" for number in range(1, language_models))
        self.language_models = (path / "lm.arpa.gz", *more)
        self.inis = path / "moses.ini", path / preparation.SETTINGS_FILE
        self.truecase_models = tuple(path / name for name in preparation.TRUECASE_MODELS.values())
        # in a moses.ini, a blank ends a path, and # begins a comment anywhere
        for character in " \t#":
            if character in str(path):
                remedy = "name a folder without blanks and # in its path"
                what = f"the path of the folder has {character!r}, which a moses.ini cannot express"
                raise SettingsError(what, path=path, remedy=remedy)
        check_owner(path, self.work.name)

    def alignment(self, name: str) -> Path:
        """Return the file with the links of an aligner, or of a given alignment, by number."""
        return self.path / f"aligned.{name}"


def default_ini(folder: SystemFolder, settings: BuildSettings) -> bytes:
    """Return the text of the ini; absolute paths are valid wherever the ini is read."""
    phrase_table, reordering_table = map(absolute_if_possible, folder.tables)
    models = [*map(absolute_if_possible, folder.language_models)]
    features = weights = ""
    if settings.reordering:
        features = _REORDERING.format(reordering_table=reordering_table)
        weights = _REORDERING_WEIGHTS
    for number, path in enumerate(models):
        features += _LANGUAGE_MODEL.format(number=number, path=path, order=settings.lm_order)
        weights += f"LM{number}= {_LANGUAGE_MODEL_WEIGHT / len(models):g}\n"
    return _TEMPLATE.format(
        phrase_table=phrase_table,
        features=features,
        weights=weights,
        distortion_limit=settings.distortion_limit if settings.reordering else 0,
    ).encode()
