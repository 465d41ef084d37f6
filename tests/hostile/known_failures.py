"""Cases that break a rule and are not mended yet: patterns of their names, each with its cause.

A pattern that no failing case matches any more makes a test fail, so that it is taken off.
"""

from __future__ import annotations

_LISTING = "the ini is written before its files are looked at"
_EMPTY = "an empty table is taken for one of no lines"
_UNNAMED = "the sentence does not say which option has the empty name"
_LATE = "the settings of later steps are not checked before the first"

_STREAM = "an error while reading does not name the file"

_SECOND = "what is unfinished of the first output stays when the second cannot be written"
_CARRIAGE = "a file without line feeds is taken for one line"

KNOWN: dict[str, str] = {
    "ini * | in/moses.ini | a * path 'xxxx *": _LISTING,
    "ini * | in/moses.ini | a * path 'a/a/ *": _LISTING,
    "filter | in/phrase-table | empty": _EMPTY,
    "filter | in/phrase-table | /dev/null": _EMPTY,
    "filter | in/reordering | UTF-16": _EMPTY,
    "* | in/reordering | empty": _EMPTY,
    "* | in/reordering | /dev/null": _EMPTY,
    "tune | in/reordering | one NUL": _EMPTY,
    "* | memory of the process": _STREAM,
    "* | out/order* | /dev/full": _SECOND,
    "* | out/order* | .order*": _SECOND,
    "train* | in/phrase-table | CR line ends": _CARRIAGE,
    "prune | in/phrase-table | CR line ends": _CARRIAGE,
    "score | in/phrase-table | CR line ends": _CARRIAGE,
    "train* | out/new | the root": "the name of the root is empty",
    "train* | out/new | a file as a folder": "the sentence does not say what is the matter",
    "doctor | in/phrase-table | 10^5 scores": "it takes the square of their number",
    "experiment (plan) | in/experiment.toml | seeds *": _LATE,
    "experiment (plan) | in/experiment.toml | rounds *": _LATE,
    "experiment (plan) | in/experiment.toml | a model of *": _LATE,
    "experiment (plan) | in/experiment.toml | a path '/dev/null'": _LATE,
    "* | an empty name": _UNNAMED,
    "* | --alignment | empty": _UNNAMED,
}
