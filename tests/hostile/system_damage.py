"""Damages moses.ini and experiment files."""

from __future__ import annotations

from collections.abc import Mapping

from tests.hostile.content_damage import Damage, new_content
from tests.hostile.kind_damage import swapped

_DEEP = 200_000
_10_30 = "1" + "0" * 30

_NAMES = ("../x", "../../elsewhere/x", "/x", "..", ".", "a/b", "x" * 300, "a\1b", "a\0b")
_COUNTS = ("-1", "0", "1" + "0" * 9, _10_30, "9" * 5000, "²", "٣", "nan", "")
_PATHS = ("", "x" * 300, "a/" * 2500, "/dev/null", "in", "in/phrase-table/x", "nothing", "a\0b")


# an error may name a path from the ini instead of the ini
WRONG_PATHS = ("x" * 100, "a/" * 50, "a" * 100, "/dev/null", "nothing", "in")


def _short(text: str) -> str:
    return repr(text if len(text) < 40 else f"{text[:4]} * {len(text)}")


INI: Mapping[str, Damage] = {
    **{f"a table called {_short(name)}": swapped("TranslationModel0", name) for name in _NAMES},
    **{
        f"num-features={_short(count)}": swapped("num-features=2", f"num-features={count}")
        for count in _COUNTS
    },
    **{
        f"a table's path {_short(path)}": swapped("path=in/phrase-table", f"path={path}")
        for path in _PATHS
    },
    **{
        f"a model's path {_short(path)}": swapped("path=in/lm.arpa", f"path={path}")
        for path in _PATHS
    },
    **{
        f"a weight {_short(weight)}": swapped("WordPenalty0= -0.1", f"WordPenalty0= {weight}")
        for weight in ("1e999", "nan", "²", "1" + "0" * 400, "", "0x10")
    },
    **{
        f"{section} {_short(value)}": new_content(
            lambda text, section=section, value=value: text + f"[{section}]\n{value}\n".encode()
        )
        for section in ("stack", "distortion-limit", "ttable-limit", "weight-file")
        for value in (_10_30, "²", "-5", "")
    },
    **{
        f"table-limit={_short(limit)}": swapped(
            "path=in/phrase", f"table-limit={limit} path=in/phrase"
        )
        for limit in (_10_30, "-1", "²")
    },
    **{
        f"factors of {_short(factor)}": swapped("output-factor=0", f"output-factor={factor}")
        for factor in (_10_30, "-1", "²")
    },
    "order=10^30": swapped("order=2", f"order={_10_30}"),
    "a section twice": new_content(lambda text: text + b"[feature]\nDistortion\n"),
    "10^4 features": swapped("PhrasePenalty\n", "PhrasePenalty\n" * 10**4, 1),
    "an unknown feature": swapped("PhrasePenalty\n", "Zebra path=in/lm.arpa\n"),
    "no features": new_content(lambda text: text.partition(b"[feature]")[0]),
}

TOML: Mapping[str, Damage] = {
    "deep lists": new_content(lambda text: b"x = " + b"[" * _DEEP + b"\n" + text),
    "deep tables": new_content(lambda text: text + b"[" + b"a." * _DEEP + b"b]\n"),
    "deep inline tables": new_content(lambda text: b"x = " + b"{a = " * _DEEP + b"\n" + text),
    **{
        f"a path {_short(path)}": swapped(
            'dev_reference = "in/dev.trg"', f'dev_reference = "{path}"'
        )
        for path in ("dev\\u0000", "a/" * 2500, "a" * 300, "", "/", "..", "/dev/null", "\\n")
    },
    **{
        f"seeds {_short(seeds)}": swapped("[1]", f"[{seeds}]")
        for seeds in ("", _10_30, "-1", "nan", "true", "1, 1", "1.5", "'1'", "9" * 5000)
    },
    **{
        f"rounds {_short(rounds)}": swapped("rounds = 1", f"rounds = {rounds}")
        for rounds in ("0", "-1", "1000000000000", _10_30, "true", "1.5", "'1'", "[]")
    },
    "an unknown option of train": swapped('"--hidden"', '"--hiden"'),
    "hidden 10^30": swapped('"8"', f'"{_10_30}"'),
    "options of train that are no texts": swapped('"8"', "8"),
    "a system ../../../elsewhere/x": swapped('"RNN"', '"../../../elsewhere/x"'),
    "a model ../../elsewhere/x": swapped("[models.rnn]", '[models."../../elsewhere/x"]'),
    "a model of 300 bytes": new_content(
        lambda text: text.replace(b"models.rnn", b"models." + b"r" * 300).replace(
            b'["rnn"]', b'["' + b"r" * 300 + b'"]'
        )
    ),
    "systems that are no list": swapped('[[systems]]\nname = "RNN"', '[y]\nname = "RNN"'),
    "no systems": new_content(lambda text: text.partition(b"[[systems]]")[0]),
    "a section of the decoder ../x": swapped("stack = 10", '"../x" = 10'),
    "stack 10^30": swapped("stack = 10", f"stack = {_10_30}"),
}
