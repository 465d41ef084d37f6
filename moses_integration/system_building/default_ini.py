"""The moses.ini of a new system, with the features and weights that train-model.perl writes."""

from __future__ import annotations

from pathlib import Path

from phrasescore.errors import SettingsError

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
LexicalReordering name=LexicalReordering0 num-features=6 type=wbe-msd-bidirectional-fe-allff \
input-factor=0 output-factor=0 path={reordering_table}
Distortion
KENLM name=LM0 factor=0 path={language_model} order={order}

[weight]
UnknownWordPenalty0= 1
WordPenalty0= -1
PhrasePenalty0= 0.2
TranslationModel0= 0.2 0.2 0.2 0.2
LexicalReordering0= 0.3 0.3 0.3 0.3 0.3 0.3
Distortion0= 0.3
LM0= 0.5
"""
# a blank ends a path and # begins a comment, wherever it stands
_FORBIDDEN = " \t#"


def check_ini_path(path: Path) -> None:
    """Make sure that Moses could read a path from an ini.

    Raises:
        SettingsError: It holds a blank or a number sign.
    """
    for character in _FORBIDDEN:
        if character in str(path):
            raise SettingsError(
                f"the folder's path holds {character!r}, which a moses.ini cannot express",
                path=path,
                remedy="name another folder",
            )


def default_ini(
    phrase_table: Path,
    reordering_table: Path,
    language_model: Path,
    *,
    order: int,
    distortion_limit: int,
) -> bytes:
    """Return the text of the ini.

    Args:
        phrase_table: As it is to stand in the ini; relative paths resolve against the current
            directory of whoever reads the ini, as in Moses.
        reordering_table: The same.
        language_model: The same.
        order: The order of the language model.
        distortion_limit: How far a phrase may jump; -1 is without limit.
    """
    return _TEMPLATE.format(
        phrase_table=phrase_table,
        reordering_table=reordering_table,
        language_model=language_model,
        order=order,
        distortion_limit=distortion_limit,
    ).encode()
