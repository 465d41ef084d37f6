"""The steps that build a Moses-format system; finished steps are not repeated."""

from __future__ import annotations

import dataclasses
import itertools
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from moses_integration.language_model.kneser_ney import write_arpa
from moses_integration.system_building.build_settings import (
    DEFAULT_ALIGNERS,
    OR_LONGER,
    Aligner,
    BuildInputs,
    BuildRecord,
    BuildSettings,
    SystemFolder,
    default_ini,
)
from moses_integration.system_building.corpus_preparation import TextSource, prepare_corpus
from moses_integration.system_building.extraction import SortedRun, extract_runs
from moses_integration.system_building.lexical_probabilities import count_linked_words
from moses_integration.system_building.phrase_numbers import NumberedText, number_phrases
from moses_integration.system_building.phrase_scoring import write_tables
from moses_integration.system_building.word_aligners import align_words
from moses_integration.system_building.word_alignment import Links, link_lines, read_kept_links
from moses_integration.text import preparation
from moses_integration.text.tokenising import language_notes
from phrasescore.errors import CorpusError
from phrasescore.runs.file_kinds import only_regular_files
from phrasescore.runs.final_names import open_output, own_folder, write_atomically
from phrasescore.runs.identity import provenance, sha256_of
from phrasescore.runs.ledger import FunctionStep, Outcome, Step, run_steps
from phrasescore.runs.results import RESULT
from phrasescore.table.input_files import misaligned_files
from phrasescore.table.line_assembly import Phrases

# a corpus that loses more pairs was probably prepared wrongly
_MIN_KEPT = 0.98
_MANY_LEFT_OUT = "more than 2 % of the sentence pairs were left out; look at the lines named below"
_SPLIT = f", and split lines that are too long into sentences{OR_LONGER}"
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
        self._tables = folder.tables if settings.reordering else folder.tables[:1]
        self._truecase_models = folder.truecase_models if settings.case == "truecase" else ()

    def steps(self) -> list[FunctionStep]:
        """Return all steps, each after the steps whose outputs it reads."""
        settings, folder = self._settings, self._folder
        texts, tables = folder.texts, self._tables
        prepared = (*texts, *self._truecase_models, folder.kept)
        aligned = self._alignments()
        links = tuple(output for step in aligned for output in step.outputs)
        scoring = {
            "max_phrase_length": settings.max_phrase_length,
            "alignments": [path.name for path in links],
        }
        scored = (*folder.lexical_tables, *tables)
        written = {
            "distortion_limit": settings.distortion_limit,
            "reordering": settings.reordering,
            "folder": str(folder.path.absolute()),  # as in the ini
        }
        named = (*tables, *folder.language_models)
        return [
            Step("corpus", self._prepare, self._corpus_settings(), (), prepared),
            *aligned,
            *self._language_models(),
            Step("score", partial(self._score, links), scoring, (*texts, *links), scored),
            Step("ini", self._ini, written, named, folder.inis),
        ]

    def _alignments(self) -> list[FunctionStep]:
        folder, steps = self._folder, list[FunctionStep]()
        for number, path in enumerate(self._inputs.alignments, 1):
            by, output = {"the alignment": sha256_of(path)}, folder.alignment(str(number))
            work, read = partial(self._take_links, path, output), (*folder.texts, folder.kept)
            steps.append(Step(f"align-{number}", work, by, read, (output,)))
        for aligner in self.aligners:
            output = folder.alignment(aligner)
            work = partial(self._align, aligner, output)
            steps.append(Step(f"align-{aligner}", work, {}, folder.texts, (output,)))
        return steps

    def _language_models(self) -> list[FunctionStep]:
        target = self._folder.texts[1]
        model, *more = self._folder.language_models
        order: dict[str, object] = {"lm_order": self._settings.lm_order}
        estimate = partial(self._estimate, target, model)
        steps: list[FunctionStep] = [Step("language-model", estimate, order, (target,), (model,))]
        prepared = order | dataclasses.asdict(self._settings.text.target)
        texts = zip(self._inputs.language_model_texts, more, strict=True)
        for number, (path, model) in enumerate(texts, 1):
            work = partial(self._prepare_and_estimate, path, model)
            by = prepared | {"the text": sha256_of(path)}
            steps.append(Step(f"language-model-{number}", work, by, (), (model,)))
        return steps

    def _corpus_settings(self) -> dict[str, object]:
        inputs, settings, text = self._inputs, self._settings, self._settings.text
        names = "tokenizer", "case", "characters", "max_sentence_length", "cleaning"
        return {
            "the source text": sha256_of(inputs.source),
            "the target text": sha256_of(inputs.target),
            "tokenize": list(settings.tokenize or ()),
            "aligned": bool(inputs.alignments),
            # a folder whose text was cut at apostrophes is not continued
            "apostrophes": text.source.keeps_apostrophes or text.target.keeps_apostrophes or None,
            **{name: getattr(settings, name) for name in names},
        }

    @cached_property
    def _corpus(self) -> tuple[NumberedText, NumberedText]:
        """The prepared text of both sides, which stays in memory for the next step."""
        source, target = map(NumberedText.read, self._folder.texts)
        return source, target

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
        split = _SPLIT if "too long" in done.left_out else ""
        warnings = [_MANY_LEFT_OUT + split] if kept < _MIN_KEPT * len(done.kept) else []
        files = self._inputs.source, self._inputs.target
        if (warning := misaligned_files(*files)) is not None:
            warnings.append(warning)
        languages = zip(files, settings.tokenize or (), strict=False)
        notes = [f"{path}: {note}" for path, code in languages for note in language_notes([code])]
        with open_output(self._folder.kept) as stream:
            np.save(stream, np.array(done.kept))
        return {
            "pairs_read": len(done.kept),
            "pairs_kept": kept,
            "left_out": dict(done.left_out),
            "source_words": done.words[0],
            "target_words": done.words[1],
            "warnings": warnings,
            "notes": [*notes, *done.notes],
        }

    def _take_links(self, path: Path, output: Path) -> dict[str, object]:
        """Take the links of the pairs that were kept from a given alignment."""
        source, target = self._corpus
        kept = np.load(self._folder.kept, allow_pickle=False)
        links = read_kept_links(path, kept, (source.lengths, target.lengths))
        return {"aligner": str(path), "made_by": "given"} | self._write_links(links, output)

    def _align(self, aligner: Aligner, output: Path) -> dict[str, object]:
        texts, threads = self._folder.texts, self._settings.threads
        links, record = align_words(*self._corpus, texts, aligner, output, threads=threads)
        return {"aligner": aligner, **record} | self._write_links(links, output)

    def _write_links(self, links: Links, output: Path) -> dict[str, object]:
        with open_output(output) as stream:
            stream.writelines(link_lines(links, _LINES_AT_ONCE))
        empty = int((links.offsets[1:] == links.offsets[:-1]).sum())
        return {"links": len(links.sources), "pairs_without_links": empty}

    def _score(self, aligned: Sequence[Path]) -> dict[str, object]:
        """Count the phrase pairs of all alignments together, and write the tables."""
        folder = self._folder.phrases
        shutil.rmtree(folder, ignore_errors=True)
        own_folder(folder)
        corpus, longest = self._corpus, self._settings.max_phrase_length
        numbers = (
            number_phrases(corpus[0], longest).mapped(folder / "source"),
            number_phrases(corpus[1], longest).mapped(folder / "target"),
        )
        threads, memory = self._settings.threads, self._settings.memory
        alignments = [Links.read(path) for path in aligned]
        runs: list[SortedRun] = []
        for number, links in enumerate(alignments):
            place = own_folder(folder / f"runs{number}")
            runs += extract_runs(corpus, links, numbers, place, threads=threads, memory=memory)
        if not runs:
            raise CorpusError(
                "no phrase pair could be extracted: no sentence pair has a usable link",
                remedy="check the word alignment",
            )
        words = count_linked_words(*corpus, alignments)
        source, target = (Phrases.of_text(each.ids, each.words) for each in corpus)
        sides = (source, numbers[0]), (target, numbers[1])
        del alignments, links, corpus
        del self._corpus  # frees the memory for the tables
        words.write(*self._folder.lexical_tables)
        lexical = words.by_source(), words.by_target()
        records = sum(map(len, runs))
        counts = write_tables(sides, lexical, runs, self._tables, threads=threads, memory=memory)
        shutil.rmtree(folder)
        return {"word_pairs": len(words.counts), "records": records, **counts}

    def _prepare_and_estimate(self, path: Path, model: Path) -> dict[str, object]:
        """Prepare a text in the same way as the target side, and estimate its language model."""
        target = self._settings.text.target
        truecase = preparation.read_truecaser(self._folder.path, "target", target)
        text = self._folder.work / "text.gz"
        done = prepare_corpus([TextSource(path, target, truecase)], [text], None)
        lines = itertools.islice(preparation.read_text(text), _LINES_AT_ONCE)
        words = Counter(word for line in lines for word in line.split(" "))
        doubt = preparation.wrong_language(self._folder.path, "target", words)
        estimated = self._estimate(text, model)
        text.unlink()
        counts = {"lines": len(done.kept), "words": done.words[0]} | estimated
        warnings = [f"{path}: {doubt}"] if doubt else []
        return counts | {"warnings": warnings, "notes": list(done.notes)}

    def _estimate(self, text: Path, model: Path) -> dict[str, object]:
        vars(self).pop("_corpus", None)  # frees the memory of the corpus
        types, _ = write_arpa(text, self._settings.lm_order, model)
        return {"ngrams": list(types)}

    def _ini(self) -> dict[str, object]:
        settings, folder = self._settings, self._folder
        preparation.write_settings(folder.path, settings.text)
        write_atomically(folder.inis[0], default_ini(folder, settings))
        return {}
