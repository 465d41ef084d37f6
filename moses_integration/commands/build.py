"""``phrasescore build``: build a Moses-format system from parallel text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moses_integration.system_building.build_settings import (
    CASES,
    CHARACTER_DEFAULTS,
    DEFAULT_ALIGNERS,
    HIGHEST_ORDER,
    LONGEST_PHRASE,
    BuildInputs,
    BuildSettings,
    Case,
    SystemFolder,
)
from moses_integration.text.preparation import TOKENIZERS, TokenizerName
from moses_integration.text.tokenising import check_language
from phrasescore.commands.declarations import Field, Options, argument, command, flag, option
from phrasescore.commands.options import CORES, WORDS, BoundedInt, say
from phrasescore.commands.paths import PathName, Use
from phrasescore.runs.ledger import Outcome
from phrasescore.runs.processes import usable_cores

_FILE = PathName(Use.READ, Path)


def _by_unit(kind: Any, name: str, text: str, **attributes: Any) -> Field:
    """Declare an option that has another default if every character is a word."""
    usual, characters = getattr(BuildSettings, name), CHARACTER_DEFAULTS[name]
    text = f"{text}  [default: {usual}; with --characters {characters}]"
    return option(kind, text, **attributes)


class BuildOptions(Options):
    """Options of ``build``."""

    source: Path = argument(_FILE)
    target: Path = argument(_FILE)
    system: Path = argument(PathName(Use.WRITE_FOLDER, Path))
    tokenize: tuple[str, str] | None = option(
        check_language,  # at once: with one language, the next word would be missed elsewhere
        "Tokenise and escape SOURCE and TARGET, e.g. en fr; by default, text stays as it is.",
        nargs=2,
        metavar="LANGUAGE LANGUAGE",
    )
    tokenizer: TokenizerName = option(
        TOKENIZERS,
        "unicode keeps every mark with its letter, in all scripts, and makes the text Unicode NFC; "
        "moses gives the tokens of Moses's tokenizer.perl.",
        default=BuildSettings.tokenizer,
        needs=("tokenize",),
    )
    characters: bool = flag(
        "Make every character a word, e.g. to normalise spelling; no phrase is reordered."
    )
    case: Case = option(
        CASES,
        "truecase gives the first word of a sentence its usual case, as Moses's truecaser does; "
        "lower loses case for good.",
        default=BuildSettings.case,
    )
    lowercase: bool = flag("The same as --case lower.", excludes=("case",))
    alignments: tuple[Path, ...] = option(
        _FILE,
        "A word alignment of SOURCE and TARGET (lines such as 0-0 1-2 2-1). May be repeated: "
        "phrases are counted in all alignments together.",
        "--alignment",
        many=True,
    )
    aligners: tuple[object, ...] = option(
        "NAME",
        "A word aligner: fast_align or eflomal (need pip install 'phrasescore[alignment]'), run in "
        "both directions; or monotone, for characters. May be repeated, and given with --alignment."
        f"  [default: {' and '.join(DEFAULT_ALIGNERS)}; with --characters monotone; with "
        "--alignment none]",
        "--aligner",
        many=True,
    )
    max_phrase_length: int | None = _by_unit(
        BoundedInt(1, LONGEST_PHRASE),
        "max_phrase_length",
        "The maximum number of words in a phrase.",
        metavar="WORDS",
    )
    lm_order: int | None = _by_unit(
        BoundedInt(1, HIGHEST_ORDER),
        "lm_order",
        "The order of the language models; real Moses reads orders up to 6 unless it is compiled "
        "for more.",
    )
    language_model_texts: tuple[Path, ...] = option(
        _FILE,
        "More text of the target language, such as a list of words or a monolingual corpus; each "
        "gets a language model of its own. May be repeated.",
        "--language-model-text",
        many=True,
    )
    distortion_limit: int = option(
        BoundedInt(-1, 10_000),
        "The distortion limit in moses.ini; -1 for no limit.",
        default=BuildSettings.distortion_limit,
        metavar="WORDS",
    )
    no_reordering: bool = flag("Translate from left to right; make no reordering table.")
    max_sentence_length: int = option(
        WORDS,
        "Leave out sentence pairs if either sentence is longer.",
        default=BuildSettings.max_sentence_length,
        metavar="WORDS",
    )
    no_cleaning: bool = flag(
        "Keep sentence pairs of any length and length ratio; an empty sentence is then an error."
    )
    threads: int | None = CORES
    update: bool = flag("Repeat steps of an earlier build in SYSTEM whose text or options changed.")


@command("build", BuildOptions)
def build(options: BuildOptions) -> None:
    """Build a Moses system in the folder SYSTEM from the parallel text SOURCE and TARGET.

    Both texts have one sentence per line and may be gzip files. The same command continues an
    interrupted build.
    """
    from moses_integration.system_building.build import build_system
    from phrasescore.runs.interruption import interruptible

    named = {name: getattr(options, name) for name in CHARACTER_DEFAULTS}
    defaults = CHARACTER_DEFAULTS if options.characters else vars(BuildSettings)
    settings = options.settings(
        BuildSettings,
        case="lower" if options.lowercase else options.case,
        aligners=options.aligners or None,
        cleaning=not options.no_cleaning,
        reordering=not (options.no_reordering or options.characters),
        threads=options.threads or usable_cores(),
        **{name: defaults[name] if value is None else value for name, value in named.items()},
    )
    texts = options.language_model_texts
    inputs = BuildInputs(options.source, options.target, options.alignments, texts)
    folder = SystemFolder(options.system, 1 + len(texts))
    with interruptible(options.system):
        for outcome in build_system(inputs, folder, settings, update=options.update):
            say(_outcome_line(outcome))
            for kind in ("warning", "note"):
                for text in outcome.counts.get(f"{kind}s", []):
                    say(f"  {kind}: {text}")
    say(f"the system is ready: {folder.inis[0]}")


def _outcome_line(outcome: Outcome) -> str:
    """Describe in one line the result and the time of a step.

    >>> from phrasescore.runs.ledger import Outcome
    >>> _outcome_line(Outcome("score", {"phrase_pairs": 72310}, 2.0, resumed=False))
    'score            72,310 phrase pairs (2.0 s)'
    """
    time = "done before" if outcome.resumed else f"{outcome.seconds:.1f} s"
    return f"{outcome.name:<16} {_describe(outcome.counts)} ({time})"


def _describe(counts: Mapping[str, Any]) -> str:
    parts = []
    for name, value in counts.items():
        if isinstance(value, int):
            parts.append(f"{value:,} {name.replace('_', ' ')}")
        elif name == "ngrams":
            parts.append(" + ".join(f"{number:,}" for number in value) + " n-grams")
        elif name == "left_out" and value:
            reasons = ", ".join(f"{number:,} {reason}" for reason, number in value.items())
            parts.append(f"{sum(value.values()):,} left out ({reasons})")
        elif name == "aligner":
            parts.append(f"by {value}")
    return ", ".join(parts) or "written"
