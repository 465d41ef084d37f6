"""The permitted outcome of each case, with the reason; a case that is not listed must be refused.

``accepted`` is for unusual but valid input, ``either`` for input that a command may or may not
check. With every outcome, the judge still looks for faults in files and memory.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Literal

Outcome = Literal["refused", "accepted", "either"]

# groups of damage with which a command may succeed
_GROUPS = {
    "surroundings": "the command may not need the damaged part",
    "neighbours": "the command may remove files of another process, or refuse to",
    "numbers": "a number within the option's range is as good as any",
    "text of options": "any text is a valid name, which may be looked up but not found",
}
_TEXTS = (
    "dev.src",
    "dev.trg",
    "other.trg",
    "phrases",
    "pairs.tsv",
    "drop.tsv",
    "words.tsv",
    "dev.tsv",
    "words",
)
# damage after which no command can read lines
_UNREADABLE = ("missing", "a folder", "a link loop", "a dangling link", "a socket", "cut gzip",
               "/dev/zero", "one NUL", "NULs in it", "UTF-16")  # fmt: skip
_UNEVEN = ("a line less", "a line more")

# (pattern of the case's name, permitted outcome, reason); the first match counts
RULES: tuple[tuple[str, Outcome, str], ...] = (
    ("* | a pipe", "either", "accepted if it is read once, refused if it is read twice"),
    ("experiment (plan) | in/[!e]*", "either", "a plan does not read the data"),
    # texts
    *((f"{call} | in/* | {uneven}", "refused", "the texts correspond line by line")
      for call in ("tune", "evaluate", "compare", "build", "train (sentences)")
      for uneven in _UNEVEN),
    *((f"* | in/{text} | {damage}", "refused", "it cannot be read")
      for text in _TEXTS for damage in _UNREADABLE),
    *((f"* | in/{text} | *", "either", "words are any bytes, as for Moses; a text has any lines")
      for text in _TEXTS),
    # input that a command ignores
    *((f"ini * | in/moses.ini | {damage}", "either", "only the edited parts are checked")
      for damage in ("num-features=*", "a table's path *", "a model's path *", "a weight *",
                     "table-limit=*", "factors of *", "order=*", "*features*", "an unknown feature",
                     "stack *", "distortion-limit *", "a section twice")),
    *((f"ini {call} | in/{file} | *", "either", "the file must exist, but is not read as a model")
      for call in ("absolute-paths", "pack") for file in ("phrase-table", "lm.arpa", "reordering")),
    ("* | in/moses.ini | a table called *", "either", "a name is not used as a path"),
    ("* | in/moses.ini | ttable-limit *", "either", "the section is not used"),
    ("* | in/moses.ini | weight-file *", "either", "the section is not used"),
    ("doctor | *", "either", "faults are the doctor's results"),
    ("experiment (plan) | * | a section of *", "either", "Moses decides which sections are valid"),
    ("experiment (plan) | out/all | *", "either", "a plan writes nothing"),
    ("experiment (plan) | * | a system *", "either", "a name is not used as a path"),
    *((f"filter | in/moses.ini | {damage}", "either", "search settings are only copied")
      for damage in ("num-features=*", "table-limit=*", "factors of *", "order=*", "a weight *",
                     "stack *", "distortion-limit *", "*features*", "an unknown feature",
                     "a model's path *")),
    ("force-score | in/moses.ini | stack *", "either", "it does not search"),
    ("force-score | in/moses.ini | distortion-limit *", "either", "it does not search"),
    *((f"{call} | in/model | model.safetensors*", "either", "only the words are used")
      for call in ("evaluate", "doctor")),
    ("report | in/model | this folder", "either", "any folder is searched"),
    ("report | in/model | *: *", "either", "the page reports unreadable files"),
    *((f"nbest | in/list | {damage}", "either", "the features of a line are only copied")
      for damage in ("numbers *", "other features *", "a feature twice", "no names *")),
    *((f"{call} | in/phrase-table* | links *", "either", "this command does not read links")
      for call in ("train", "score", "prune", "filter", "ini add-column", "experiment",
                   "generate (table)", "analyze [!s]*")),
    ("analyze scatter | in/phrase-table | links *", "either", "invalid links are ignored"),
    ("prune | in/reordering | other pairs", "either", "pairs without a phrase are dropped"),
    ("prune | in/reordering | one score *", "either", "scores are not read"),
    ("ini add-column | in/phrase-table.gz | numbers *", "either", "scores are only counted"),
    ("force-score | in/segmented | * features *", "either", "all features are computed again"),
    ("decode | in/moses.ini | order=*", "either", "the order is read from the model"),
    ("force-score | in/moses.ini | order=*", "either", "the order is read from the model"),
    ("tune | in/moses.ini | order=*", "either", "the order is read from the model"),
    ("* | in/phrase-table* | a rule's brackets", "either", "a word may have brackets"),
    ("* | in/reordering | numbers 10^12", "either", "any score above 0 has a logarithm"),
    ("force-score | in/segmented | empty", "either", "a list of nothing"),
    ("force-score | in/segmented | /dev/null", "either", "a list of nothing"),
    ("* | in/weights.json | CR *", "either", "blanks mean nothing in JSON"),
    *((f"* | in/{file}.json: CR *", "either", "blanks mean nothing in JSON")
      for file in ("system | text", "normaliser | normaliser")),
    ("ini * | out/ini | the input in/moses.ini", "accepted", "an ini may be edited in its place"),
    ("ini * | out/ini | a * in/moses.ini", "accepted", "an ini may be edited in its place"),
    ("* | in/moses.ini | a section twice", "either", "sections may be continued"),
    ("experiment | in/experiment.toml | a system *", "either", "a name is not used as a path"),
    ("experiment | in/moses.ini | stack *", "either", "the experiment replaces this section"),
    ("* | in/moses.ini | distortion-limit *", "either", "the first value counts, as in Moses"),
    ("* | in/moses.ini | stack ''", "either", "an empty section changes nothing, as in Moses"),
    *((f"{call} | in/moses.ini | 10^4 features", "either", "features of one name add up")
      for call in ("decode", "force-score")),
    *((f"{call} | standard input, empty", "either", "a list of nothing")
      for call in ("force-score | in/segmented", "nbest | in/list")),
    *((f"rerank | in/{file} | numbers {number}", "either", "any finite number is a value")
      for file in ("list", "weights.json") for number in ("-1", "10^12")),
    *((f"ini add-column | in/phrase-table.gz | {damage}", "either", "scores are only counted")
      for damage in ("CR line ends", "a negative score")),
    ("report | in/model | the root", "either", "any folder is searched"),
    *((f"nbest | in/list | {damage}", "either", "lines are copied, and there may be none")
      for damage in ("empty", "/dev/null", "a line feed", "sentence ids turned round")),
    ("force-score | in/segmented | a line feed", "either", "a list of nothing"),
    *((f"optimize | in/weights.json | {damage}", "either", "any finite number is a start")
      for damage in ("numbers -1", "numbers 10^12", "a weight 0.5")),
    ("generate (table) | in/reordering | other pairs", "either", "missing pairs are estimated"),
    ("generate (table) | in/reordering | one score *", "either", "lines are only copied"),
    *((f"* | in/{file} | *UTF-16", "either", "JSON may be in UTF-16")
      for file in ("weights.json", "model", "search", "lm", "system", "normaliser")),
    ("filter | in/lm.arpa | *", "either", "the language model is not read"),
    # commands that read only the table lines that the texts need
    *((f"{call} | in/{file} | {damage}", "either", "lines that no text needs are not checked")
      for call in ("tune", "decode", "force-score", "experiment")
      for file in ("phrase-table", "reordering")
      for damage in ("2 columns", "10^5 columns", "other pairs", "cut off", "a blank line")),
    *((f"filter | in/{file} | {damage}", "either", "lines are only copied")
      for file in ("phrase-table", "reordering")
      for damage in ("2 columns", "10^5 *", "other pairs", "cut off", "numbers *", "one score *",
                     "a negative score", "links *", "a rule's brackets", "a blank line")),
    ("* | in/phrase-table* | 10^5 columns", "either", "columns beyond the fifth are ignored"),
    ("* | in/phrase-table* | numbers 10^12", "either", "Moses takes any score above 0"),
    ("* | in/* | CR LF line ends", "either", "a carriage return belongs to the last column"),
    # unusual but valid names
    ("* | out/* | a line feed in the name", "either", "a name may contain a line feed"),
    ("* | out/* | a name that is not UTF-8", "either", "names are bytes"),
    ("* | out/* | a link loop", "either", "the output takes the link's place"),
    ("* | out/* | a dangling link", "either", "the output replaces the link or its target"),
    ("* | out/* | /dev/null", "either", "the user asked for no output"),
    ("experiment | out/result.json | a *link to in/*", "either", "the output replaces the link"),
    ("decode | out/cache | in /proc", "either", "the cache is optional"),
    ("decode | out/cache | a foreign folder", "accepted", "other files may be in a cache folder"),
    ("alignments | out/pictures | a foreign folder", "accepted", "it may have other files"),
    ("analyze scatter | out/scatter | a foreign folder", "accepted", "it may have other files"),
)  # fmt: skip


def outcome_of(group: str, name: str) -> Outcome:
    """Return the permitted outcome of a case."""
    if group == "nothing":
        return "accepted"
    for pattern, outcome, _ in RULES:
        if fnmatchcase(name, pattern):
            return outcome
    return "either" if group in _GROUPS else "refused"
