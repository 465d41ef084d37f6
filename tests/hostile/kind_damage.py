"""Damages phrase tables, n-best lists, language models, weights and links."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tests.hostile.content_damage import JSON, Damage, changed_json, new_content, whole


def swapped(old: str, new: str, most: int = -1) -> Damage:
    """Return a damage that replaces one text by another."""
    return new_content(lambda text: text.replace(old.encode(), new.encode(), most))


def lines_with(pattern: str, new: str) -> Damage:
    """Return a damage that replaces a pattern, in which ``^`` matches the start of a line."""
    return new_content(lambda text: re.sub(f"(?m){pattern}", new, text.decode()).encode())


TABLE: Mapping[str, Damage] = {
    "a rule's brackets": swapped("s0", "[X][X] s0 [X]", 1),
    "2 columns": new_content(lambda text: text + b"s9 ||| r9\n"),
    "links beyond int16": swapped("0-0", "99999-0"),
    "links of 10^30": swapped("0-0", "1" + "0" * 30 + "-0"),
    "10^5 scores": new_content(lambda text: b"s0 ||| r0 |||" + b" 0.1" * 10**5 + b"\n" + text),
    "a negative score": swapped("||| 0.", "||| -0."),
    "a blank line": new_content(lambda text: b"\n" + text),
    "10^5 columns": new_content(lambda text: text + b"s9 ||| r9 ||| 0.1 0.1" + b" |||" * 10**5),
}
REORDERING: Mapping[str, Damage] = {
    "2 columns": swapped(" ||| .2", " .2"),
    "other pairs": swapped("r", "q"),
    "one score fewer": lines_with(r" \.5$", ""),
}
NBEST: Mapping[str, Damage] = {
    "sentence ids 10^12": lines_with("^7 ", "1000000000000 "),
    "sentence ids 10^30": lines_with("^7 ", "1" + "0" * 30 + " "),
    "sentence ids -1": lines_with("^0 ", "-1 "),
    "sentence ids ²": lines_with("^2 ", "² "),
    "sentence ids ٢": lines_with("^2 ", "٢ "),
    "sentence ids turned round": lines_with("^7 ", "1 "),
    "no names of features": lines_with("[A-Za-z0-9]+= ", ""),
    "other features in a line": swapped("LM0=", "X=", 1),
    "a feature twice": swapped("LM0=", "Distortion0="),
    "2 columns": new_content(lambda text: text + b"7 ||| r0\n"),
}
SEGMENTED: Mapping[str, Damage] = {
    **NBEST,
    "spans of 10^12": swapped(" 0=0", " 1000000000000=0"),
    "spans turned round": swapped(" 0=0", " 3-0=0"),
    "spans of 5,000 digits": swapped(" 0=0", " " + "9" * 5000 + "=0"),
    "spans twice": swapped(" 0=0", " 1=0"),
    "spans in ²": swapped(" 0=0", " ²=0"),
}
_COUNTS = r"^ngram (\d)=\d+"
ARPA: Mapping[str, Damage] = {
    "counts of 10^12": lines_with(_COUNTS, r"ngram \1=1000000000000"),
    "counts of 10^30": lines_with(_COUNTS, r"ngram \1=1" + "0" * 30),
    "counts of -1": lines_with(_COUNTS, r"ngram \1=-1"),
    "counts in ²": lines_with(_COUNTS, r"ngram \1=²"),
    "a count too high": lines_with(r"^ngram 2=\d+", "ngram 2=100"),
    "order 10^9": swapped("ngram 2=", "ngram 1000000000="),
    "probabilities NaN": lines_with("^-0.9", "nan"),
    "probabilities above 1": lines_with("^-0.9", "5"),
    "probabilities 1e999": lines_with("^-0.9", "-1e999"),
    "an n-gram of unknown words": swapped("\t<s> r0", "\t<s> zebra"),
    "no end": swapped("\\end\\", ""),
    "a KenLM binary's head": whole(
        b"mmap lm http://kheafield.com/code format version 5\n\0" + bytes(300)
    ),
}
WEIGHTS: Mapping[str, Damage] = {
    **JSON,
    **{
        f"a weight {value!r}": changed_json(lambda _, value=value: {"weights": {"LM0": value}})
        for value in ([float("nan")], [float("inf")], ["x"], 0.5, [[0.5]], [True], [10**400], None)
    },
    "weights in a list": changed_json(lambda _: {"weights": [0.5]}),
}
LINKS: Mapping[str, Damage] = {
    "links beyond int16": swapped("0-0", "99999-99999"),
    "links of 10^30": swapped("0-0", "1" + "0" * 30 + "-0"),
    "links of -1": swapped("0-0", "-1-0"),
    "links in ²": swapped("0-0", "²-0"),
    "links in ٣": swapped("0-0", "٣-0"),
}
TEXT: Mapping[str, Damage] = {
    "a line less": new_content(lambda text: text.partition(b"\n")[2]),
    "a line more": new_content(lambda text: text + b"s0 s1\n"),
    "bars": swapped(" ", " ||| "),
    "brackets": swapped(" ", " [X] "),
}
