"""Whether a neural language model is fit to stand in a certain moses.ini."""

from __future__ import annotations

from collections.abc import Iterator

from moses_integration.ini.feature_kinds import TEXT_TABLE_KINDS
from moses_integration.ini.model_files import find_model_file
from moses_integration.ini.moses_ini import MosesIni
from moses_integration.language_model.neural.network import read_feed_forward_lm
from phrasescore.errors import InputError, ModelError, SettingsError
from phrasescore.model.folder import StoredWeights
from phrasescore.model.model_settings import FeedForwardLmSettings
from phrasescore.runs.file_kinds import STANDARD_STREAM
from phrasescore.words.known_words import KnownWords, known_words


def read_for_ini(folder: str, *, normalised: bool) -> StoredWeights:
    """Read a model that is to work inside decoding.

    Args:
        folder: The model.
        normalised: Whether its scores will be ln p; otherwise ln Z is left out.

    Raises:
        ModelError: It is no model folder, damaged, or of another kind.
        SettingsError: ln Z cannot be left out of its scores.
    """
    if folder == STANDARD_STREAM:
        raise SettingsError("the model is standard input", remedy="name a model folder")
    stored = read_feed_forward_lm(folder)
    if not normalised and not is_self_normalised(stored):
        raise SettingsError(
            f"without ln Z the scores of {folder} are no probabilities: it was not trained with "
            "--self-normalise",
            remedy="leave --unnormalised out, or train it again with --self-normalise",
        )
    return stored


def is_self_normalised(stored: StoredWeights) -> bool:
    """Whether training kept ln Z of a model near 0, so that scores may leave it out."""
    settings = stored.settings
    return isinstance(settings, FeedForwardLmSettings) and settings.self_normalise > 0


def checked_words(ini: MosesIni, stored: StoredWeights) -> tuple[str, ...]:
    """Compare the words of a model with those of the phrase tables of an ini.

    Returns:
        A sentence for each table of which it knows few words, without a final full stop.

    Raises:
        ModelError: It seems to be a model of the language that the system translates from.
    """
    warnings = []
    for words in table_words(ini, stored):
        if words.is_of_the_source:
            raise ModelError(words.problem, path=stored.path, remedy=words.remedy)
        if words.problem:
            warnings.append(f"{stored.path}: {words.problem}: {words.remedy}")
    return tuple(warnings)


def table_words(ini: MosesIni, stored: StoredWeights) -> Iterator[KnownWords]:
    """Yield how much of each text table of an ini a model knows; of those that are there."""
    for line in ini.features:
        if line.kind not in TEXT_TABLE_KINDS:
            continue
        try:
            path = find_model_file(line.options.get("path", "")).path
            if path.is_file():
                yield known_words(path, stored.target_vocabulary, stored.settings.factor)
        except InputError:
            continue  # what is wrong with the table is said elsewhere
