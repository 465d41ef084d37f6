"""The steps that build a Moses-format system; finished steps are not repeated."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from moses_integration.language_model.kneser_ney import write_arpa
from moses_integration.system_building.build_settings import (
    BuildInputs,
    BuildSettings,
    SystemFolder,
    default_ini,
)
from moses_integration.system_building.corpus_preparation import (
    TextSource,
    prepare_corpus,
)
from moses_integration.system_building.extraction import (
    AlignedText,
    extract_runs,
)
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
from moses_integration.system_building.word_alignment import (
    Links,
    align_words,
    check_links,
    link_lines,
    read_links,
    select_links,
)
from moses_integration.text.preparation import read_truecaser, write_settings
from moses_integration.text.tokenising import language_notes
from phrasescore.runs.file_kinds import only_regular_files
from phrasescore.runs.final_names import open_output, own_folder, write_atomically
from phrasescore.runs.identity import provenance, sha256_of
from phrasescore.runs.results import RESULT, BuildRecord
from phrasescore.runs.steps import FunctionStep, Outcome, Step, run_steps
from phrasescore.table.line_assembly import Phrases

_SIDES = ("source", "target")
# a corpus that loses more pairs was probably prepared wrongly
_MIN_KEPT = 0.98
_MANY_LEFT_OUT = "more than 2 % of the sentence pairs were left out; look at the lines named below"
_LINES_AT_ONCE = 10_000


def build_system(
    inputs: BuildInputs, folder: SystemFolder, settings: BuildSettings, *, update: bool = False
) -> Iterator[Outcome]:
    """Build a system, or continue an interrupted build; yield the outcome of each step.

    Args:
        inputs: The text, and its alignment if given.
        folder: The folder of the system.
        settings: The settings of the build.
        update: Whether to repeat steps whose settings differ from those of an earlier run.

    Raises:
        CorpusError: The text or the alignment cannot be used.
        ResumeError: The folder holds a build with other settings, or its files were modified.
        MissingDependencyError: A program or the library of word aligners is not installed.
    """
    builder = _Builder(inputs, folder, settings)
    outcomes: list[Outcome] = []
    with only_regular_files(folder.path):
        for outcome in run_steps(builder.steps(), folder.work, update=update):
            outcomes.append(outcome)
            yield outcome
        steps = {each.name: {"seconds": each.seconds, **each.counts} for each in outcomes}
        recorded = {name: value for name, value in vars(settings).items() if name != "threads"}
        record = provenance(inputs=(*inputs.paths, *inputs.language_model_texts), settings=recorded)
        BuildRecord(steps, record).write(folder.path / RESULT)


class _Builder:
    """The steps of a build, and the corpus that several of them read."""

    def __init__(self, inputs: BuildInputs, folder: SystemFolder, settings: BuildSettings) -> None:
        self._inputs, self._folder, self._settings = inputs, folder, settings

    def steps(self) -> list[FunctionStep]:
        """Return all steps, each after the steps whose outputs it reads."""
        settings, folder = self._settings, self._folder
        given = self._inputs.alignment is not None
        texts, alignment = folder.texts, (folder.alignment,)
        prepared = (*texts, *self._truecase_models, *(alignment if given else ()))
        steps: list[FunctionStep] = [
            Step("corpus", self._prepare, self._corpus_settings(), (), prepared)
        ]
        if not given:
            by = {"aligner": settings.aligner}
            steps.append(Step("alignment", self._align, by, texts, alignment))
        corpus = (*texts, *alignment)
        longest = {"max_phrase_length": settings.max_phrase_length}
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
            *steps,
            Step("language-model", self._language_model, order, texts[1:], models[:1]),
            *more,
            Step("score", self._extract_and_score, longest, corpus, scored),
            Step("ini", self._ini, self._ini_settings(), (*tables, *models), folder.inis),
        ]

    @property
    def _tables(self) -> tuple[Path, ...]:
        return self._folder.tables if self._settings.reordering else self._folder.tables[:1]

    @property
    def _truecase_models(self) -> tuple[Path, ...]:
        return self._folder.truecase_models if self._settings.case == "truecase" else ()

    def _text_settings(self) -> list[dict[str, Any]]:
        """Return the settings that the language model of each further text depends on."""
        settings = self._settings
        prepared = {"lm_order": settings.lm_order} | dataclasses.asdict(settings.text.target)
        texts = self._inputs.language_model_texts
        return [prepared | {"sha256 of the text": sha256_of(path)} for path in texts]

    def _corpus_settings(self) -> dict[str, Any]:
        settings = self._settings
        digests = {
            f"sha256 of the {what}": sha256_of(path)
            for what, path in zip((*_SIDES, "alignment"), self._inputs.paths, strict=False)
        }
        return digests | {
            "tokenize": list(settings.tokenize or ()),
            "tokenizer": settings.tokenizer,
            "case": settings.case,
            "characters": settings.characters,
            "max_sentence_length": settings.max_sentence_length,
            "cleaning": settings.cleaning,
        }

    def _ini_settings(self) -> dict[str, Any]:
        return {
            "distortion_limit": self._settings.distortion_limit,
            "reordering": self._settings.reordering,
            "folder": str(self._folder.path),
        }

    @cached_property
    def _source(self) -> NumberedText:
        return read_numbered_text(self._folder.texts[0])

    @cached_property
    def _target(self) -> NumberedText:
        return read_numbered_text(self._folder.texts[1])

    @cached_property
    def _links(self) -> Links:
        return read_links(self._folder.alignment)

    def _prepare(self) -> dict[str, Any]:
        settings, alignment = self._settings, self._inputs.alignment
        sources = (
            TextSource(self._inputs.source, settings.text.source, alignment is not None),
            TextSource(self._inputs.target, settings.text.target, alignment is not None),
        )
        max_words = settings.max_sentence_length if settings.cleaning else None
        texts, models = self._folder.texts, self._truecase_models
        done = prepare_corpus(sources, texts, max_words, models, keeps_all=not settings.cleaning)
        report: dict[str, Any] = {
            "pairs_read": done.lines,
            "pairs_kept": len(done.kept),
            "left_out": dict(done.left_out),
            "source_words": done.words[0],
            "target_words": done.words[1],
            "warnings": [_MANY_LEFT_OUT] if len(done.kept) < _MIN_KEPT * done.lines else [],
            "notes": [*language_notes(settings.tokenize or ()), *done.notes],
        }
        if alignment is not None:
            links = select_links(read_links(alignment), done.kept, done.lines, alignment)
            check_links(links, done.kept, (self._source.lengths, self._target.lengths), alignment)
            report |= self._write_links(links)
        return report

    def _align(self) -> dict[str, Any]:
        aligner = self._settings.aligner
        links = align_words(self._source, self._target, aligner)
        return {"aligner": aligner} | self._write_links(links)

    def _write_links(self, links: Links) -> dict[str, int]:
        with open_output(self._folder.alignment) as stream:
            for lines in link_lines(links, _LINES_AT_ONCE):
                stream.write(lines)
        empty = int((links.offsets[1:] == links.offsets[:-1]).sum())
        return {"links": len(links.sources), "pairs_without_links": empty}

    def _extract_and_score(self) -> dict[str, Any]:
        folder = self._folder.phrases
        shutil.rmtree(folder, ignore_errors=True)
        own_folder(folder)
        for name, text in zip(_SIDES, (self._source, self._target), strict=True):
            number_phrases(text, self._settings.max_phrase_length).save(folder / name)
        own_folder(folder / "runs")
        source, target = (PhraseNumbers.load(folder / name) for name in _SIDES)
        aligned = AlignedText(self._source, self._target, self._links, source, target)
        threads, memory = self._settings.threads, self._settings.memory
        runs = extract_runs(aligned, folder / "runs", threads=threads, memory=memory)
        words = count_linked_words(self._source, self._target, self._links)
        texts = (Phrases.of_text(each.ids, each.words) for each in (self._source, self._target))
        sides = (next(texts), source), (next(texts), target)
        del aligned
        self._forget("_source", "_target", "_links")
        write_lexical_tables(words, *self._folder.lexical_tables)
        lexical = words.by_source(), words.by_target()
        records = {"word_pairs": len(words.counts), "records": sum(map(len, runs))}
        counts = write_tables(sides, lexical, runs, self._tables, threads=threads, memory=memory)
        shutil.rmtree(folder)
        return records | counts

    def _language_model(self) -> dict[str, Any]:
        self._forget("_source", "_target", "_links")
        return self._estimate(self._folder.texts[1], 0)

    def _forget(self, *names: str) -> None:
        """Free the memory of cached values; a step that needs them later reads them again."""
        for name in names:
            self.__dict__.pop(name, None)

    def _more_text(self, number: int) -> dict[str, Any]:
        """Prepare a text in the same way as the target side, and estimate its language model."""
        target = self._settings.text.target
        truecase = read_truecaser(self._folder.path, "target", target)
        given = TextSource(self._inputs.language_model_texts[number - 1], target, truecase)
        text = self._folder.work / f"text{number}.gz"
        done = prepare_corpus([given], [text], None)
        estimated = self._estimate(text, number)
        text.unlink()
        notes = list(done.notes)
        return {"lines": done.lines, "words": done.words[0], "notes": notes} | estimated

    def _estimate(self, text: Path, number: int) -> dict[str, Any]:
        model = self._folder.language_models[number]
        types, _ = write_arpa(text, self._settings.lm_order, model)
        return {"ngrams": list(types)}

    def _ini(self) -> dict[str, Any]:
        settings, folder = self._settings, self._folder
        write_settings(folder.path, settings.text)
        write_atomically(folder.inis[0], default_ini(folder, settings))
        return {}
