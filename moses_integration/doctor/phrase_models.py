"""Which words of the development set the phrase models know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moses_integration.doctor.findings import Finding
from moses_integration.doctor.words import TextWords
from phrasescore.errors import PhrasescoreError


def phrase_model_findings(
    folders: Iterable[str], source: TextWords, references: list[TextWords]
) -> Iterator[Finding]:
    """Open every model folder, check it, and look the words up in its shortlists."""
    from phrasescore.model.folder import load_model

    for folder in folders:
        try:
            model = load_model(folder)
        except PhrasescoreError as error:
            yield Finding.of(error, folder)
            continue
        read, predicted = model.source_vocabulary, model.target_vocabulary
        if model.direction == "target-source":
            read, predicted = predicted, read
        unknown = "it takes each of them for <unk>"
        known = set(read.words[2:])
        yield from source.findings(source.known_to(known), f"the model {folder}", unknown)
        known = set(predicted.words[2:])
        for words in references:
            yield from words.findings(words.known_to(known), f"the model {folder}", unknown)
