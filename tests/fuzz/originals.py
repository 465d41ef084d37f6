"""Small valid files of every format, and pieces to generate files from."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

from tests.support.language_models import TRIGRAMS, kenlm_binary
from tests.support.toy_system import toy_list, write_toy_system

GOLDEN = Path(__file__).resolve().parent.parent / "data" / "golden"
_LINES = 25
_BYTES = b" |\t|\r|\n|\0|\xff|\xc2\xa0|\xe2\x80\xa8|\xef\xbb\xbf".split(b"|")
_NUMBERS = [
    *(b"0", b"1", b"-1", b"0.5", b".5", b"5.", b"1e-3", b"1e400", b"1e-400", b"-0.0", b"nan"),
    *(b"inf", b"1_0", b"+1", b"0x1", b"\xc2\xb2", b"1" * 20, b"0." + b"0" * 400 + b"1", b"32768"),
    *(b"65536", b"999999999", b"1000000000", b"4294967296", b"1" + b"0" * 30, b"7" * 5000),
]
_TABLE = [b"a", b"b", b" ", b" ", b" ||| ", b" ||| ", b"|||", b"||", b"|", b"\n", b"\n", b"0.5 0.5"]
_RULES = [b"[X]", b" [X]", b"[X][X] ", b"[", b"]"]
_LINKS = [b"0-0", b"1-0 ", b"0-", b"-", b"--1", b"40000-0", b"999999-999999", b"0-0 0-1"]


@dataclass(frozen=True)
class Format:
    """The examples of a format.

    Args:
        files: Valid files.
        pieces: Pieces of which random files consist.
    """

    files: tuple[bytes, ...]
    pieces: tuple[bytes, ...]


def head(name: str, lines: int = _LINES) -> bytes:
    """Return the first lines of a golden file."""
    data = (GOLDEN / name).read_bytes()
    text = gzip.decompress(data) if name.endswith(".gz") else data
    return b"".join(text.splitlines(keepends=True)[:lines])


def formats(folder: Path) -> dict[str, Format]:
    """Return all formats by name.

    Args:
        folder: A scratch folder.
    """
    toy = write_toy_system(folder / "toy")
    table = head("system/phrase-table.gz")
    rules = b"le [X][X] [X] ||| the [X][X] [X] ||| 0.5 1 ||| 1-1\nun [X] ||| a [X] ||| 1 1\n"
    factored = b"la|D maison|N ||| the|d house|n ||| 0.5 0.25 ||| 0-0 1-1\n| ||| a ||| 1 1\n"
    binaries = [
        kenlm_binary(kind)
        for kind in ("probing", "trie", "array-trie", "quantised-trie", "quantised-array-trie")
    ]
    text = head("extraction/corpus.en")
    return {
        "table": Format(
            (table, rules, factored, head("system/phrase-table.5col.gz")),
            (*_TABLE, *_RULES, *_LINKS, *_NUMBERS, *_BYTES),
        ),
        "reordering": Format(
            (head("system/reordering-table.gz"), b"a ||| 0.5 0.5 0.5 1 1 1\n"),
            (*_TABLE, b"0.1 0.2 0.3 0.4 0.5 0.6\n", *_NUMBERS, *_BYTES),
        ),
        "arpa": Format(
            (TRIGRAMS.encode(), (folder / "toy" / "lm.arpa").read_bytes(), _arpa_head()),
            (
                *(b"\\data\\\n", b"ngram 1=", b"ngram 2=", b"ngram 3=1\n", b"\n", b"\\1-grams:\n"),
                *(
                    b"\\2-grams:\n",
                    b"\\3-grams:\n",
                    b"\\end\\\n",
                    b"-1\t<s>\n",
                    b"-1\t</s>\n",
                    b"#",
                ),
                *(b"-1\ta\n", b"-1 a\t-0.5\n", b"-1\ta a\n", b"-1\ta a\t-1\n", b"<unk>", b"<UNK>"),
                *(*_NUMBERS, *_BYTES),
            ),
        ),
        "kenlm": Format(tuple(binaries), (binaries[0][:88], b"\0\0\0\0", b"\1\0\0\0", *_BYTES)),
        "nbest": Format(
            (toy_list(toy)[:4000], head("decode/wide.nbest.gz", 9), head("tuning/run1.best30.gz")),
            (
                *(b"0 ||| ", b"1 ||| ", b"a ", b" ", b" ||| ", b" ||| ", b"|||", b"LM0= ", b"TM= "),
                *(b"LM0_x= ", b"=", b"\n", b"\n", b" ||| -1\n", b"0=0", b" |0-0| ", b"-1 "),
                *(*_NUMBERS, *_BYTES),
            ),
        ),
        "text": Format(
            (text, head("extraction/corpus.fr"), b"a b\tc d\te\n\tx\nb|N\tc|N\r\n"),
            (b"a", b"b ", b" ", b"\t", b"\n", b"|", b"|||", b"<s>", b"</s>", b"<unk>", *_BYTES),
        ),
        "ini": Format(
            (toy.ini.read_bytes(), toy.ini.read_bytes().replace(b"num-features=2", b"")),
            (
                *(b"num-features=", b" tuneable-components=1,0", b" tuneable=0", b" table-limit="),
                *(
                    b"\nWordPenalty name=W num-features=0\n",
                    b"\nDistortion name=D",
                    b" oov-feature=1",
                ),
                *(
                    b"\nPhrasePenalty name=P per-phrase-table=1",
                    b"[stack]\n",
                    b"[mapping]\n0 T 0\n",
                ),
                *(b"[search-algorithm]\n1\n", b"[max-phrase-length]\n", b"[mapping]\n0 T 0\n"),
                *(*_NUMBERS, *_BYTES, b"=", b" ", b"\n", b"\n", b"#"),
            ),
        ),
        "links": Format(
            (head("extraction/aligned.grow-diag-final-and"),),
            (*_LINKS, b" ", b"\n", b"\n", *_NUMBERS, *_BYTES),
        ),
    }


def _arpa_head() -> bytes:
    """Return the golden model, reduced to its first 40 1-grams."""
    lines = head("system/lm.arpa.gz", 45).split(b"\n")
    unigrams = lines[lines.index(b"\\1-grams:") + 1 :][:40]
    return b"\\data\\\nngram 1=40\n\n\\1-grams:\n" + b"\n".join(unigrams) + b"\n\n\\end\\\n"
