"""Checks of the texts and the system that ``improve`` is given, before any long step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from moses_integration.doctor.texts import Text, TextWords
from moses_integration.ini.rescoring_file import Rescoring
from moses_integration.text.preparation import SETTINGS_FILE, decode_line, read_settings
from phrasescore.errors import InputError, SettingsError, counted
from phrasescore.runs.progress import Say
from phrasescore.table.input_files import file_looks_raw, misaligned_files, read_lines
from phrasescore.table.phrase_table import SIDES
from tuning.improvement.plan import ImprovePlan

_LINES = 10_000  # lines of another text of the target language whose words are compared
_CLEAR = 0.2  # languages share names and numbers, so a smaller difference may be chance
# what Moses's preparation makes of characters; raw text has them in few lines
_ENTITY, _FEW = re.compile(rb"&(?:apos|quot|#9[13]|#124);"), 0.02
_MOST_SEEN = 0.1  # short sentences may be in both texts


def check_texts(plan: ImprovePlan) -> None:
    """Check the texts before any long step.

    Raises:
        InputError: A text is missing or empty, texts have different numbers of lines, or a raw dev
            set is not UTF-8.
        SettingsError: The sides of a text are swapped, or the system has models that rescore.
        IniError: The system has no phrase table in text form.
    """
    if plan.system is not None:
        plan.table  # noqa: B018 - raises an error if there is no such table
        if Rescoring.read(plan.system) is not None:
            problem = "this system has models that rescore"
            remedy = "name its moses.ini, to improve its search alone"
            raise SettingsError(problem, path=plan.system, remedy=remedy)
    more_texts = []
    if (path := plan.target_text) is not None:
        if not any(line.strip() for line in read_lines(path)):
            raise InputError("the text contains no sentence", path=path)
        more_texts.append(Text(str(path), tuple(islice(read_lines(path), _LINES)), True))
    texts = [[Text.read(path) for path in pair] for pair in (plan.parallel, plan.dev)]
    for source, target in texts:
        _check_pair(source, target)
    for text in texts[1] if plan.system is None else ():  # `preprocess` reads them after `build`
        for number, line in enumerate(text.lines, 1):
            decode_line(line, text.path, number)
    known = [set(each.tokens()).__contains__ for each in texts[0]]
    for text, side in zip((*texts[1], *more_texts), (*SIDES, SIDES[1]), strict=False):
        words = TextWords(text.tokens())
        shares = [1 - words.unknown_share(each) for each in known]
        own, other = shares if side == "source" else shares[::-1]
        if other > own + _CLEAR:
            remedy = "swap --source and --reference, or the two files of --parallel"
            raise SettingsError(
                f"the parallel text has {shares[0]:.0%} of the words of {text.path} on its source "
                f"side, and {shares[1]:.0%} on its target side",
                remedy="give text of the target language" if text in more_texts else remedy,
            )


def _check_pair(source: Text, target: Text) -> None:
    for text in (source, target):
        if not any(line.strip() for line in text.lines):
            raise InputError("the text contains no sentence", path=text.path)
    if len(source.lines) != len(target.lines):
        raise InputError(
            f"{counted(len(target.lines), 'line')}, but {source.path} has {len(source.lines):,}",
            path=target.path,
            remedy="line i of one text must be the translation of line i of the other",
        )
    if source.lines == target.lines:
        what, remedy = f"the same text as the other side, {source.path}", "name two texts"
        raise InputError(what, path=target.path, remedy=remedy)


def check_tokens(plan: ImprovePlan, say: Say) -> None:
    """Refuse raw text for a system of tokens, and prepared text for ``--tokenize``.

    If the system has no ``text.json``, there is only a warning.

    Raises:
        InputError: A text looks raw, or prepared.
        SettingsError: ``text.json`` is damaged.
    """
    if plan.system is None:
        _check_new(plan, say)
        return
    folder = plan.system if plan.system.is_dir() else plan.system.parent
    system = read_settings(folder) if (folder / SETTINGS_FILE).exists() else None
    corpus = [folder / f"corpus.{side}.gz" for side in SIDES]
    for path, side in zip(plan.inputs, (*SIDES, *SIDES, SIDES[1]), strict=False):
        if not file_looks_raw(path):
            continue
        if system is None:
            say(f"warning: {path} looks like raw text; the system needs text in its tokens")
        elif getattr(system, side).takes_raw_text:
            remedy = f"prepare it: phrasescore preprocess {path} --system {folder} --side {side}"
            if path in plan.parallel and all(each.is_file() for each in corpus):
                remedy = f"give the text of the system: --parallel {corpus[0]} {corpus[1]}"
            problem = "the text looks like raw text, but the system needs text in its tokens"
            raise InputError(problem, path=path, remedy=remedy)


def text_warnings(plan: ImprovePlan) -> Iterator[str]:
    """Yield a warning of misaligned texts, and of a dev set that is part of the parallel text."""
    yield from filter(None, (misaligned_files(*pair) for pair in (plan.parallel, plan.dev)))
    dev = set(zip(*map(read_lines, plan.dev), strict=False))
    seen = {pair for pair in zip(*map(read_lines, plan.parallel), strict=False) if pair in dev}
    if len(seen) > _MOST_SEEN * len(dev):
        yield (
            f"{len(seen):,} of {len(dev):,} sentence pairs of the dev set are in the parallel "
            "text, so its BLEU is too high: take them out of one of the two"
        )


def _check_new(plan: ImprovePlan, say: Say) -> None:
    """Refuse prepared text for ``--tokenize``; warn of raw text without it."""
    for path in plan.inputs:
        if "--tokenize" not in plan.build:
            if file_looks_raw(path):
                say(f"warning: {path} looks like raw text; --tokenize would prepare it")
            continue
        found = [_ENTITY.search(line) is not None for line in read_lines(path)]
        if sum(found) > _FEW * len(found):
            problem = f"{counted(sum(found), 'line')} with entities such as &apos;, which only "
            problem += "prepared text has, but --tokenize is for raw text"
            raise InputError(problem, path=path, remedy="give the raw text, or no --tokenize")
