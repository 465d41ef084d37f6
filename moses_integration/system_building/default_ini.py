"""The moses.ini of a new system, with the features and weights that train-model.perl writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from moses_integration.system_building.phrases import reordering
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
LexicalReordering name=LexicalReordering0 num-features=6 type={reordering_type}-allff \
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
# a blank ends a path, and # begins a comment anywhere
_FORBIDDEN = " \t#"


@dataclass(frozen=True)
class ModelPaths:
    """The files of a system, as its ini names them."""

    phrase_table: Path
    reordering_table: Path
    language_model: Path


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


def default_ini(paths: ModelPaths, *, order: int, distortion_limit: int) -> bytes:
    """Return the text of the ini.

    Args:
        paths: Where the models are; relative paths resolve against the current directory of
            whoever reads the ini, as in Moses.
        order: The order of the language model.
        distortion_limit: How far a phrase may jump; -1 is without limit.
    """
    return _TEMPLATE.format(
        distortion_limit=distortion_limit,
        phrase_table=paths.phrase_table,
        reordering_type=reordering.TYPE,
        reordering_table=paths.reordering_table,
        language_model=paths.language_model,
        order=order,
    ).encode()
