"""Options of the analyses that look at a model's vectors."""

from __future__ import annotations

from typing import Literal

from phrasescore.commands.declarations import Options, flag, option
from phrasescore.errors import SettingsError


class Words(Options):
    """Whether vectors are those of words."""

    words: bool = flag("Word vectors, which every kind of model has.")
    side: Literal["source", "target"] | None = option(
        ["source", "target"],
        "With --words: of which side.  [default: the side that the model reads]",
    )

    def refuse_side_without_words(self) -> None:
        """Refuse ``--side`` alone: a summary is of the side that the model reads.

        Raises:
            SettingsError: There is one without ``--words``.
        """
        if self.side is not None and not self.words:
            raise SettingsError(
                "--side chooses among word vectors; summaries are of the side that the model reads",
                remedy="add --words or leave out --side",
            )
