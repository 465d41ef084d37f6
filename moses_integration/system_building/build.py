"""The steps that build a Moses-format system; finished steps are not repeated."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from moses_integration.language_model.kneser_ney import write_arpa
from moses_integration.system_building.build_settings import (
    DEFAULT_ALIGNERS,
    Aligner,
    BuildInputs,
    BuildRecord,
    BuildSettings,
    SystemFolder,
    default_ini,
)
from moses_integration.system_building.corpus_preparation import TextSource, prepare_corpus
from moses_integration.system_building.extraction import AlignedText, SortedRun, extract_runs
from moses_integration.system_building.lexical_probabilities import (
    count_linked_words,
    write_lexical_tables,
)
from moses_integration.system_building.phrase_numbers import (
    NumberedText,
    PhraseNumbers,
    number_phrases,
    read_numbered_text,
)
from moses_integration.system_building.phrase_scoring import write_tables
from moses_integration.system_building.word_aligners import align_words
from moses_integration.system_building.word_alignment import (
    Links,
    check_links,
    link_lines,
    read_links,
    select_links,
)
from moses_integration.text.preparation import read_truecaser, write_settings
from moses_integration.text.tokenising import language_notes
from phrasescore.errors import CorpusError
from phrasescore.runs.file_kinds import only_regular_files
from phrasescore.runs.final_names import open_output, own_folder, write_atomically
from phrasescore.runs.identity import provenance, sha256_of
from phrasescore.runs.ledger import FunctionStep, Outcome, Step, run_steps
from phrasescore.runs.results import RESULT
from phrasescore.table.line_assembly import Phrases

_SIDES = ("source", "target")
# a corpus that loses more pairs was probably prepared wrongly
_MIN_KEPT = 0.98
_MANY_LEFT_OUT = (
    "more than 2 % of the sentence pairs were left out; look at the lines named below, and split "
    "long lines into sentences, or raise --max-sentence-length"
)
_LINES_AT_ONCE = 10_000


def build_system(
    inputs: BuildInputs, folder: SystemFolder, settings: BuildSettings, *, update: bool = False
) -> Iterator[Outcome]:
    """Build a system, or continue an interrupted build; yield the outcome of each step.

    Args:
        inputs: The text, and its alignments if any are given.
        folder: The folder of the system.
        settings: The settings of the build.
        update: Whether to repeat steps whose settings differ from those of an earlier run.

    Raises:
        CorpusError: The text or an alignment cannot be used.
        ResumeError: The folder holds a build with other settings, or its files were modified.
        MissingDependencyError: The library of word aligners is not installed.
    """
    builder = _Builder(inputs, folder, settings)
    outcomes: list[Outcome] = []
    with only_regular_files(folder.path):
        for outcome in run_steps(builder.steps(), folder.work, update=update):
            outcomes.append(outcome)
            yield outcome
        steps = {each.name: {"seconds": each.seconds, **each.counts} for each in outcomes}
        recorded = {name: value for name, value in vars(settings).items() if name != "threads"}
        recorded["aligners"] = builder.aligners
        record = provenance(inputs=(*inputs.paths, *inputs.language_model_texts), settings=recorded)
        record["aligners"] = {
            each.counts["aligner"]: each.counts["made_by"]
            for each in outcomes
            if "made_by" in each.counts
        }
        BuildRecord(steps, record).write(folder.path / RESULT)


class _Builder:
    """The steps of a build, and the corpus that several of them read."""

    def __init__(self, inputs: BuildInputs, folder: SystemFolder, settings: BuildSettings) -> None:
        self._inputs, self._folder, self._settings = inputs, folder, settings
        usual: tuple[Aligner, ...] = ("monotone",) if settings.characters else DEFAULT_ALIGNERS
        aligners = settings.aligners
        self.aligners = (() if inputs.alignments else usual) if aligners is None else aligners
        self._read: tuple[NumberedText, NumberedText] | None = None

    def steps(self) -> list[FunctionStep]:
        """Return all steps, each after the steps whose outputs it reads."""
        settings, folder = self._settings, self._folder
        texts = folder.texts
        prepared = (*texts, *self._truecase_models, folder.kept)
        aligned: list[FunctionStep] = []
        for number, path in enumerate(self._inputs.alignments, 1):
            by, output = {"sha256 of the alignment": sha256_of(path)}, folder.alignment(str(number))
            take = partial(self._take_links, path, output)
            aligned.append(Step(f"align-{number}", take, by, (*texts, folder.kept), (output,)))
        for aligner in self.aligners:
            output = folder.alignment(aligner)
            align = partial(self._align, aligner, output)
            aligned.append(Step(f"align-{aligner}", align, {}, texts, (output,)))
        links = tuple(output for step in aligned for output in step.outputs)
        scoring = {
            "max_phrase_length": settings.max_phrase_length,
            "alignments": [path.name for path in links],
        }
        order = {"lm_order": settings.lm_order}
        models, tables = folder.language_models, self._tables
        scored = (*folder.lexical_tables, *tables)
        more: list[FunctionStep] = [
            Step(f"language-model-{number}", partial(self._more_text, number), by, (), (model,))
            for number, (by, model) in enumerate(
                zip(self._text_settings(), models[1:], strict=True), 1
            )
        ]
        return [
            Step("corpus", self._prepare, self._corpus_settings(), (), prepared),
            *aligned,
            Step("language-model", self._language_model, order, texts[1:], models[:1]),
            *more,
            Step("score", partial(self._score, links), scoring, (*texts, *links), scored),
            Step("ini", self._ini, self._ini_settings(), (*tables, *models), folder.inis),
        ]

    @property
    def _tables(self) -> tuple[Path, ...]:
        return self._folder.tables if self._settings.reordering else self._folder.tables[:1]

    @property
    def _truecase_models(self) -> tuple[Path, ...]:
        return self._folder.truecase_models if self._settings.case == "truecase" else ()

    def _text_settings(self) -> list[dict[str, object]]:
        """Return the settings that the language model of each further text depends on."""
        settings = self._settings
        prepared = {"lm_order": settings.lm_order} | dataclasses.asdict(settings.text.target)
        texts = self._inputs.language_model_texts
        return [prepared | {"sha256 of the text": sha256_of(path)} for path in texts]

    def _corpus_settings(self) -> dict[str, object]:
        settings = self._settings
        digests = {
            f"sha256 of the {what}": sha256_of(path)
            for what, path in zip(_SIDES, self._inputs.paths, strict=False)
        }
        names = "tokenizer", "case", "characters", "max_sentence_length", "cleaning"
        given = {
            "tokenize": list(settings.tokenize or ()),
            "aligned": bool(self._inputs.alignments),
        }
        return digests | given | {name: getattr(settings, name) for name in names}

    def _ini_settings(self) -> dict[str, object]:
        return {
            "distortion_limit": self._settings.distortion_limit,
            "reordering": self._settings.reordering,
            "folder": str(self._folder.path),
        }

    def _corpus(self) -> tuple[NumberedText, NumberedText]:
        """Return the prepared text of both sides, which stays in memory for the next step."""
        if self._read is None:
            source, target = map(read_numbered_text, self._folder.texts)
            self._read = source, target
        return self._read

    def _prepare(self) -> dict[str, object]:
        settings, aligned = self._settings, bool(self._inputs.alignments)
        sources = (
            TextSource(self._inputs.source, settings.text.source, aligned=aligned),
            TextSource(self._inputs.target, settings.text.target, aligned=aligned),
        )
        max_words = settings.max_sentence_length if settings.cleaning else None
        texts, models = self._folder.texts, self._truecase_models
        done = prepare_corpus(sources, texts, max_words, models, keeps_all=not settings.cleaning)
        kept = sum(done.kept)
        with open_output(self._folder.kept) as stream:
            np.save(stream, np.array(done.kept))
        return {
            "pairs_read": len(done.kept),
            "pairs_kept": kept,
            "left_out": dict(done.left_out),
            "source_words": done.words[0],
            "target_words": done.words[1],
            "warnings": [_MANY_LEFT_OUT] if kept < _MIN_KEPT * len(done.kept) else [],
            "notes": [*language_notes(settings.tokenize or ()), *done.notes],
        }

    def _take_links(self, path: Path, output: Path) -> dict[str, object]:
        """Take the links of the pairs that were kept from a given alignment."""
        kept = np.load(self._folder.kept, allow_pickle=False)
        lines = np.flatnonzero(kept) + 1
        links = select_links(read_links(path), lines, len(kept), path)
        source, target = self._corpus()
        check_links(links, lines, (source.lengths, target.lengths), path)
        return {"aligner": str(path), "made_by": "given"} | self._write_links(links, output)

    def _align(self, aligner: Aligner, output: Path) -> dict[str, object]:
        texts, threads = self._folder.texts, self._settings.threads
        links, record = align_words(*self._corpus(), texts, aligner, output, threads=threads)
        return {"aligner": aligner, **record} | self._write_links(links, output)

    def _write_links(self, links: Links, output: Path) -> dict[str, object]:
        with open_output(output) as stream:
            for lines in link_lines(links, _LINES_AT_ONCE):
                stream.write(lines)
        empty = int((links.offsets[1:] == links.offsets[:-1]).sum())
        return {"links": len(links.sources), "pairs_without_links": empty}

    def _score(self, aligned: Sequence[Path]) -> dict[str, object]:
        """Count the phrase pairs of all alignments together, and write the tables."""
        folder = self._folder.phrases
        shutil.rmtree(folder, ignore_errors=True)
        own_folder(folder)
        corpus = self._corpus()
        for name, text in zip(_SIDES, corpus, strict=True):
            number_phrases(text, self._settings.max_phrase_length).save(folder / name)
        source, target = (PhraseNumbers.load(folder / name) for name in _SIDES)
        threads, memory = self._settings.threads, self._settings.memory
        alignments = [read_links(path) for path in aligned]
        runs: list[SortedRun] = []
        for number, links in enumerate(alignments):
            both = AlignedText(*corpus, links, source, target)
            place = own_folder(folder / f"runs{number}")
            runs += extract_runs(both, place, threads=threads, memory=memory)
        if not runs:
            raise CorpusError(
                "no phrase pair could be extracted: no sentence pair has a usable link",
                remedy="check the word alignment",
            )
        words = count_linked_words(*corpus, alignments)
        texts = (Phrases.of_text(each.ids, each.words) for each in corpus)
        sides = (next(texts), source), (next(texts), target)
        del alignments, links, both, corpus
        self._read = None  # frees the memory for the tables
        write_lexical_tables(words, *self._folder.lexical_tables)
        lexical = words.by_source(), words.by_target()
        records: dict[str, object] = {
            "word_pairs": len(words.counts),
            "records": sum(map(len, runs)),
        }
        counts = write_tables(sides, lexical, runs, self._tables, threads=threads, memory=memory)
        shutil.rmtree(folder)
        return {**records, **counts}

    def _language_model(self) -> dict[str, object]:
        self._read = None
        return self._estimate(self._folder.texts[1], 0)

    def _more_text(self, number: int) -> dict[str, object]:
        """Prepare a text in the same way as the target side, and estimate its language model."""
        target = self._settings.text.target
        truecase = read_truecaser(self._folder.path, "target", target)
        given = TextSource(self._inputs.language_model_texts[number - 1], target, truecase)
        text = self._folder.work / f"text{number}.gz"
        done = prepare_corpus([given], [text], None)
        estimated = self._estimate(text, number)
        text.unlink()
        notes = list(done.notes)
        return {"lines": len(done.kept), "words": done.words[0], "notes": notes} | estimated

    def _estimate(self, text: Path, number: int) -> dict[str, object]:
        model = self._folder.language_models[number]
        types, _ = write_arpa(text, self._settings.lm_order, model)
        return {"ngrams": list(types)}

    def _ini(self) -> dict[str, object]:
        settings, folder = self._settings, self._folder
        write_settings(folder.path, settings.text)
        write_atomically(folder.inis[0], default_ini(folder, settings))
        return {}
