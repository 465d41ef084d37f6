"""Adds features to n-best lists: scores of the candidates by models or other programs.

All models score in one pass: ln p of whole translations, or of the phrases in them. A list is read
in blocks of lines, and shared work in a block is done once: models of sentences compute each
distinct prefix of a sentence's candidates once, and models of phrases score each distinct pair
once. Memory does not depend on the list's length, and an interrupted run can be continued.
"""

from __future__ import annotations

import hashlib
import itertools
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from moses_integration.ini.rescoring_file import check_names
from moses_integration.nbest import format as nbest_format
from phrasescore.errors import NBestError, SettingsError, counted, located, visible
from phrasescore.model.folder import load_model
from phrasescore.model.kinds import Kind, kind_named
from phrasescore.runs import processes
from phrasescore.runs.progress import with_progress
from phrasescore.runs.stream import BlockStream, LineCounts
from phrasescore.scoring.block_scoring import ScoringModel
from phrasescore.scoring.shared_scorer import SharedScorer
from phrasescore.table.block import block_sizes, read_blocks
from phrasescore.table.input_files import finite_number, open_input, read_lines, whole_number
from phrasescore.table.phrase_table import FLOOR_LN, Side, phrase_tokens, scored_tokens, words_of
from phrasescore.words.known_words import unknown_warning
from phrasescore.words.token_sequences import TokenSequences, from_lists
from phrasescore.words.vocabulary import UNK_ID
from phrasescore.words.word_table import WordTable

LINES_PER_BLOCK = 20_000


@dataclass(frozen=True)
class Candidate:
    """One candidate of a list.

    Args:
        source: The words of the source sentence; none if no model reads them.
        words: The words of the candidate.
        phrases: The phrase pairs in the order of the target; none if no model scores phrases.
    """

    source: tuple[bytes, ...]
    words: tuple[bytes, ...]
    phrases: tuple[nbest_format.PhrasePair, ...]


@dataclass(frozen=True)
class NBestModel:
    """A model whose scores become a feature.

    Args:
        name: The name of the feature in the list.
        model: The model, of either direction.
    """

    name: str
    model: ScoringModel

    @classmethod
    def load(cls, name: str, folder: str | Path, device: str = "auto") -> NBestModel:
        """Load a model.

        Raises:
            ModelError: The folder is not a model, or is damaged.
        """
        loaded = load_model(folder)
        return cls(name, ScoringModel(str(folder), loaded, SharedScorer(loaded.model, device)))

    @cached_property
    def kind(self) -> Kind:
        """The kind of the model, which scores whole translations or phrases."""
        return kind_named(self.model.loaded.settings.kind)

    def ln_p(self, pairs: Sequence[nbest_format.PhrasePair]) -> NDArray[np.float64]:
        """Return ln p of pairs of texts, ``(N,)``.

        Raises:
            ModelError: A score is not finite.
        """
        *read, predicted = (
            self.encoded([pair[side == "target"] for pair in pairs], side)
            for side in self.model.loaded.sides
        )
        nothing = TokenSequences(predicted.tokens[:0], np.zeros_like(predicted.offsets))
        return self.model.scorer.score(read[0] if read else nothing, predicted)

    def encoded(self, texts: Sequence[bytes], side: Side) -> TokenSequences:
        """Return the ids of texts; each distinct text, such as a source, is looked up once."""
        vocabulary, factor = self.model.loaded.sides[side], self.model.loaded.settings.factor
        # by default, Moses prints only the surface factor
        ids = {
            text: vocabulary.encode(scored_tokens(text, side, factor if b"|" in text else 0))
            for text in dict.fromkeys(texts)
        }
        return from_lists([ids[text] for text in texts])


@dataclass(frozen=True)
class NBestScores:
    """Scores of the candidates by another program, which become a feature.

    Args:
        name: The name of the feature in the list.
        path: A file with one number for each candidate, in the order of the list.
        values: The numbers, ``(candidates,)``.
    """

    name: str
    path: str | Path
    values: NDArray[np.float64]

    def of_candidates(self, first: int, count: int) -> list[float]:
        """Return the scores of ``count`` candidates, from the candidate at index ``first`` on."""
        if first + count > len(self.values):
            raise self._misfit("has more candidates")
        return self.values[first : first + count].tolist()

    def check_end(self, candidates: int) -> None:
        """Refuse numbers that belong to no candidate."""
        if len(self.values) > candidates:
            raise self._misfit(f"has {counted(candidates, 'candidate')}")

    def _misfit(self, has: str) -> NBestError:
        return NBestError(
            f"{counted(len(self.values), 'number')}, but the list {has}",
            path=self.path,
            remedy="write one number for each candidate, in the order of the list",
        )


def scores_of_program(name: str, command: str, candidates: Sequence[Candidate]) -> list[float]:
    """Return the scores of candidates by a program that the user names on the command line.

    The program reads lines ``source TAB candidate`` until the end of its input, and writes a number
    a line. It runs once for each block of candidates, so it may read everything before it answers.

    Args:
        name: The name of the feature, for errors.
        command: The program and its arguments, split like a command of a shell, but not run by one.
        candidates: The candidates.

    Raises:
        SettingsError: The command cannot be started.
        NBestError: The program fails, or does not write one number for each candidate.
    """
    lines = (b"%b\t%b\n" % (b" ".join(c.source), b" ".join(c.words)) for c in candidates)
    try:
        done = processes.run(
            shlex.split(command),
            given=b"".join(lines),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
    except (OSError, ValueError, IndexError) as error:
        raise SettingsError(
            f"the scorer {name} cannot be started ({error})",
            remedy=f"check the command {command!r}",
        ) from None
    written = done.stdout.split(b"\n")
    if not written[-1]:
        written.pop()
    numbers = [finite_number(line.strip()) for line in written]
    problem = ""
    if done.returncode:
        problem = f"ended with status {done.returncode}"
    elif None in numbers:
        at = numbers.index(None)
        problem = f"wrote {visible(written[at], 40)!r} for candidate {at + 1:,}, and no number"
    elif len(numbers) != len(candidates):
        wrote, of = counted(len(numbers), "number"), counted(len(candidates), "candidate")
        problem = f"wrote {wrote} for {of}"
    if problem:
        raise NBestError(
            f"the scorer {name} {problem}",
            remedy="it has to write one number for each line that it reads: the source, a tab and "
            "a candidate",
        )
    return [number for number in numbers if number is not None]


def is_copied(pair: nbest_format.PhrasePair, table_words: AbstractSet[bytes] | None) -> bool:
    """Return whether a pair is an unknown word that Moses copied or dropped.

    Args:
        pair: The pair.
        table_words: The one-word source phrases of the table; ``None`` if not known.
    """
    source, target = pair
    return (
        table_words is not None
        and target in (source, b"")
        and b" " not in source
        and source not in table_words
    )


def ln_p_of_sentences(
    model: NBestModel, candidates: Sequence[Candidate]
) -> tuple[list[float], int]:
    """Return ln p of each candidate, and how many distinct candidates were scored.

    Candidates of one sentence share the work for the sentence and for their common prefixes; a
    model of the other direction has to read each distinct candidate.
    """
    pairs = [(b" ".join(each.source), b" ".join(each.words)) for each in candidates]
    distinct = sorted(set(pairs))
    known = dict(zip(distinct, model.ln_p(distinct).tolist(), strict=True))
    return [known[pair] for pair in pairs], len(distinct)


def ln_p_of_phrases(
    model: NBestModel, candidates: Sequence[Candidate], table_words: AbstractSet[bytes] | None
) -> tuple[list[float], int, int]:
    """Return each candidate's sum of ln p over its phrases; as in Moses, ln p is at least -100.

    If the scores are a column of the phrase table, the decoder computes the same sum.

    Returns:
        The sums, how many distinct pairs were scored, and how many pairs were copied and got 0.
    """
    zero = {pair for each in candidates for pair in each.phrases if is_copied(pair, table_words)}
    distinct = sorted({pair for each in candidates for pair in each.phrases} - zero)
    ln_p = np.maximum(model.ln_p(distinct), FLOOR_LN)
    known = dict(zip(distinct, ln_p.tolist(), strict=True))
    sums = [sum(known.get(pair, 0.0) for pair in each.phrases) for each in candidates]
    return sums, len(distinct), sum(pair in zero for each in candidates for pair in each.phrases)


def score_candidates(
    models: Sequence[NBestModel],
    candidates: Sequence[Candidate],
    table_words: AbstractSet[bytes] | None,
) -> tuple[NBestCounts, list[list[float]]]:
    """Return the counts of N candidates, and a list of N scores for each model.

    Args:
        models: The models.
        candidates: The candidates of one or more sentences.
        table_words: As in `is_copied`.
    """
    columns = []
    scored = translations = copied = 0
    for model in models:
        if model.kind.of_sentences:
            found, translations = ln_p_of_sentences(model, candidates)
        else:
            found, scored, copied = ln_p_of_phrases(model, candidates, table_words)
        columns.append(found)
    pairs = sum(len(candidate.phrases) for candidate in candidates)
    return NBestCounts(len(candidates), pairs, scored, copied, translations), columns


def read_table_words(table: str | Path) -> set[bytes]:
    """Return the one-word source phrases of a phrase table.

    Raises:
        InputError: The table cannot be read.
        PhraseTableError: The table violates its format.
    """
    words = WordTable()
    for block in with_progress("reading the words of the table", read_blocks(table)):
        spans = block.token_spans("source")
        alone = spans.offsets[:-1][np.diff(spans.offsets) == 1]
        words.add_spans(spans.data, spans.begins[alone], spans.ends[alone])
    return set(words.words())


@dataclass(frozen=True)
class NBestCounts(LineCounts):
    """Counts of lines, pairs and translations so far.

    Args:
        lines: Lines of the list, each a candidate.
        pairs: Phrase pairs of all candidates; a repeated pair counts each time.
        scored: Distinct pairs that were scored, added up over the blocks.
        copied: Unknown words that Moses copied or dropped, which get 0.
        translations: Distinct whole translations that were scored, added up over the blocks.
        sentences: Sentences up to that of the last candidate, also those without candidates.
    """

    pairs: int = 0
    scored: int = 0
    copied: int = 0
    translations: int = 0
    sentences: int = 0

    def __str__(self) -> str:
        text = counted(self.lines, "candidate")
        if self.pairs:
            text += f" of {counted(self.pairs, 'phrase pair')}, {self.scored:,} of them scored"
        if self.translations:
            text += f", {counted(self.translations, 'distinct translation')} scored"
        return text + (f"; {self.copied:,} unknown words get 0" if self.copied else "")


@dataclass(frozen=True)
class NBestRescoring:
    """A list, and what adds a feature to each of its lines.

    Args:
        path: The list, plain or gzip; models of phrases need the phrases of each candidate.
        source: The source text, one line for each sentence; ``None`` if no model reads it.
        models: The models, whose features come first.
        table_words: The one-word source phrases of the phrase table. Models of phrases give 0 to
            every other word that Moses copied or dropped, as a table does. With ``None``, such
            words get the model's score.
        scores: The numbers of other programs; their features follow those of the models.
        programs: The commands of programs to run, by the names of their features, which come last.
    """

    path: str | Path
    source: str | Path | None
    models: Sequence[NBestModel]
    table_words: AbstractSet[bytes] | None = None
    scores: Sequence[NBestScores] = ()
    programs: Mapping[str, str] = field(default_factory=dict)

    def write(
        self, output: str | Path, numerics: Mapping[str, object] | None = None
    ) -> NBestCounts:
        """Write the list with the new features.

        Args:
            output: The new list, which appears when it is complete; ``-`` is standard output.
            numerics: Further settings that affect the digits, as JSON values. An interrupted run
                continues only with the same settings.

        Raises:
            NBestError: The list violates its format, has no phrase segmentation, does not fit the
                source or the scores, or already has a feature with the name of a new one.
            SettingsError: Two features have the same name, or a model lacks its source.
            ModelError: A model returns a score that is not a log-probability.
        """
        check_names(self.names)
        for model in self.models:
            if self.source is None and model.kind.reads_source:
                raise SettingsError(
                    f"the model {model.model.name} reads a source, but none is given",
                    remedy="name the text that the list translates with --source",
                )
        if self.source is not None and self.sentences is not None:
            _warn_of_unknown(self.models, self.sentences)
            if warning := nbest_format.other_text(self.path, self.source):
                click.echo(f"warning: {warning}", err=True)
        words = self.table_words
        settings = {
            "models": [
                [each.name, each.model.loaded.digest, each.model.loaded.settings.factor]
                for each in self.models
            ],
            "scores": [each.name for each in self.scores],
            "programs": [*self.programs.items()] or None,
            "table_words": None if words is None else _digest(words),
            "lines_per_block": LINES_PER_BLOCK,
            "numerics": numerics,
        }
        read = self.path, self.source, *(each.path for each in self.scores)
        stream = BlockStream(
            [path for path in read if path is not None],
            settings,
            lambda counts, done: _blocks(self.path, skip=done),
            self._rescored,
            NBestCounts(),
            check=lambda: _blocks(self.path),
            what="rescoring",
            unit="candidates",
        )

        def check_ends(_: Path, counts: NBestCounts) -> None:
            for each in self.scores:
                each.check_end(counts.lines)
            if self.sentences is not None and counts.sentences < len(self.sentences):
                listed, lines = counted(counts.sentences, "sentence"), len(self.sentences)
                said = f"warning: the list ends after {listed}, but {self.source} has {lines:,}"
                click.echo(f"{said}: is it the text that the list was made from?", err=True)

        return stream.write(output, check_ends).counts

    @cached_property
    def sentences(self) -> list[tuple[bytes, ...]] | None:
        """The words of the source text."""
        if self.source is None:
            return None
        return [tuple(phrase_tokens(line.removesuffix(b"\r"))) for line in read_lines(self.source)]

    @cached_property
    def names(self) -> list[str]:
        """The names of the new features."""
        scores = [*(each.name for each in self.scores), *self.programs]
        return [*(model.name for model in self.models), *scores]

    def _rescored(self, lines: list[bytes], before: NBestCounts) -> tuple[bytes, NBestCounts]:
        """Return the lines with their new features, and the counts up to their end."""
        candidates = []
        for number, line in enumerate(lines, before.lines + 1):
            with located(self.path, number):
                candidates.append(self._read(line))
        counts, columns = score_candidates(self.models, candidates, self.table_words)
        sentence = nbest_format.split_columns(lines[-1])[0].strip(b" ")
        last = whole_number(sentence, nbest_format.MAX_SENTENCES) or 0
        counts = replace(counts, sentences=last + 1 - before.sentences)
        for each in self.scores:
            columns.append(each.of_candidates(before.lines, len(candidates)))
        for name, command in self.programs.items():
            columns.append(scores_of_program(name, command, candidates))
        rows = zip(lines, zip(*columns, strict=True), strict=True)
        return b"".join(self._with_features(*row) for row in rows), before + counts

    def _read(self, line: bytes) -> Candidate:
        if not line.endswith(b"\n"):
            raise nbest_format.cut_short()
        columns = nbest_format.split_columns(line[:-1])
        for name in self.names:
            if b" %s= " % name.encode() in columns[2]:
                raise NBestError(
                    f"the list has a feature {name} already", remedy="give another --name"
                )
        source = self._source(columns[0].strip(b" "))
        words = words_of(nbest_format.without_marks(columns[1]))
        phrases = []
        if not all(model.kind.of_sentences for model in self.models):
            segmentation, _ = nbest_format.extra_columns(columns[4:6])
            phrases = nbest_format.phrase_pairs(words_of(columns[1]), segmentation, source)
        return Candidate(source, tuple(words), tuple(phrases))

    def _source(self, number: bytes) -> tuple[bytes, ...]:
        sentences = self.sentences
        place = whole_number(number, nbest_format.MAX_SENTENCES)
        if sentences is None and place is not None:
            return ()
        if sentences is None or place is None or place >= len(sentences):
            has = "" if sentences is None else f", but the source has {len(sentences):,} (from 0)"
            raise NBestError(
                f"sentence {number[:40].decode('utf-8', 'replace')!r}{has or ' is not a number'}",
                remedy="name the text that the list was made from as --source",
            )
        return sentences[place]

    def _with_features(self, line: bytes, values: Sequence[float]) -> bytes:
        columns = nbest_format.split_columns(line)
        end = len(columns[2].rstrip(b" "))
        named = zip(self.names, values, strict=True)
        added = b"".join(b" %s= %.6g" % (name.encode(), value) for name, value in named)
        columns[2] = columns[2][:end] + added + (columns[2][end:] or b" ")
        return nbest_format.PIPES.join(columns)


def _digest(words: AbstractSet[bytes]) -> str:
    return hashlib.sha256(b"\n".join(sorted(words))).hexdigest()


def _warn_of_unknown(models: Sequence[NBestModel], source: Sequence[tuple[bytes, ...]]) -> None:
    """Warn if a model knows few words of the source text, which may be the wrong file."""
    words = [word for sentence in source for word in sentence]
    for model in models:
        if model.kind.reads_source:
            is_unknown = model.encoded(words, "source").tokens == UNK_ID
            share = float(is_unknown.mean()) if len(is_unknown) else 0.0
            if warning := unknown_warning(share):
                said = f"{model.name}: {share:.2%} of the words of the source text are unknown"
                click.echo(f"{said}\n{warning}", err=True)


def _blocks(path: str | Path, skip: int = 0) -> Iterator[list[bytes]]:
    with open_input(path) as stream:
        for number, size in enumerate(block_sizes(LINES_PER_BLOCK)):
            lines = list(itertools.islice(stream, size))
            if not lines:
                return
            if number >= skip:
                yield lines
