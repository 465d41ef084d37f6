"""How each case may end, and why: what is not in the list is to be refused.

``accepted`` is for input that is unusual and right, ``either`` for what a command may or may not
look at; what is never right, a fault of the files or the memory, the judge finds in any case.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Literal

Outcome = Literal["refused", "accepted", "either"]

# kinds of damage after which a command may end well
_GROUPS = {
    "surroundings": "what the command does not need cannot disturb it",
    "neighbours": "what another process has left there may be cleared away, or in the way",
    "numbers": "a number within the option's range is as good as any",
    "text of options": "a name may be anything; where it is looked up, it is not found",
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
# what is no file of lines at all, whoever reads it
_UNREADABLE = ("missing", "a folder", "a link loop", "a dangling link", "a socket", "cut gzip",
               "/dev/zero", "one NUL", "NULs in it", "UTF-16")  # fmt: skip
_UNEVEN = ("a line less", "a line more")

# (a case's name, how it may end, why); the first that fits counts
RULES: tuple[tuple[str, Outcome, str], ...] = (
    ("* | a pipe", "either", "read once where that is enough, refused where it has to be twice"),
    ("experiment (plan) | in/[!e]*", "either", "a plan reads nothing of the data"),
    # texts
    *((f"{call} | in/* | {uneven}", "refused", "the texts belong to each other line by line")
      for call in ("tune", "evaluate", "compare", "build", "train (sentences)")
      for uneven in _UNEVEN),
    *((f"* | in/{text} | {damage}", "refused", "it cannot be read")
      for text in _TEXTS for damage in _UNREADABLE),
    *((f"* | in/{text} | *", "either", "words are any bytes, as for Moses; a text has any lines")
      for text in _TEXTS),
    # what a command passes over
    *((f"ini * | in/moses.ini | {damage}", "either", "only what the edit is about is looked at")
      for damage in ("num-features=*", "a table's path *", "a model's path *", "a weight *",
                     "table-limit=*", "factors of *", "order=*", "*features*", "an unknown feature",
                     "stack *", "distortion-limit *", "a section twice")),
    *((f"ini absolute-paths | in/{file} | *", "either", "it must be there, and is not read")
      for file in ("phrase-table", "lm.arpa", "reordering")),
    ("* | in/moses.ini | a table called *", "either", "a name is a name, and no path"),
    ("* | in/moses.ini | ttable-limit *", "either", "a section that is not asked for"),
    ("* | in/moses.ini | weight-file *", "either", "a section that is not asked for"),
    ("prune | in/moses.ini | *", "either", "the weights of its table are all that is looked at"),
    ("doctor | *", "either", "what is wrong is its result, as an error or as a warning"),
    ("experiment (plan) | * | a section of *", "either", "whether a section is one, Moses knows"),
    ("experiment (plan) | out/all | *", "either", "a plan writes nothing"),
    ("experiment (plan) | * | a system *", "either", "a name is a name, and no path"),
    *((f"filter | in/moses.ini | {damage}", "either", "settings of the search are passed on")
      for damage in ("num-features=*", "table-limit=*", "factors of *", "order=*", "a weight *",
                     "stack *", "distortion-limit *", "*features*", "an unknown feature",
                     "a model's path *")),
    ("force-score | in/moses.ini | stack *", "either", "it does not search"),
    ("force-score | in/moses.ini | distortion-limit *", "either", "it does not search"),
    *((f"{call} | in/model | model.safetensors*", "either", "its words are all that is looked at")
      for call in ("evaluate", "doctor")),
    ("report | in/model | this folder", "either", "a folder is looked through, whichever it is"),
    ("report | in/model | *: *", "either", "what cannot be read is said on the page"),
    *((f"nbest | in/list | {damage}", "either", "what a line has is passed on")
      for damage in ("numbers *", "other features *", "a feature twice", "no names *")),
    *((f"{call} | in/phrase-table* | links *", "either", "this command looks at no links")
      for call in ("train", "score", "prune", "filter", "ini add-column", "experiment",
                   "generate (table)", "analyze [!s]*")),
    ("analyze scatter | in/phrase-table | links *", "either", "what is no link is passed over"),
    ("prune | in/reordering | other pairs", "either", "pairs of no phrase are dropped"),
    ("prune | in/reordering | one score *", "either", "lines are kept or not, their scores stay"),
    ("ini add-column | in/phrase-table.gz | numbers *", "either", "scores are counted"),
    ("force-score | in/segmented | * features *", "either", "all are computed again"),
    ("decode | in/moses.ini | order=*", "either", "the model itself says its order"),
    ("force-score | in/moses.ini | order=*", "either", "the model itself says its order"),
    ("tune | in/moses.ini | order=*", "either", "the model itself says its order"),
    ("* | in/phrase-table* | a rule's brackets", "either", "a word may have brackets"),
    ("* | in/reordering | numbers 10^12", "either", "any score above 0 has a logarithm"),
    ("force-score | in/segmented | empty", "either", "a list of nothing"),
    ("force-score | in/segmented | /dev/null", "either", "a list of nothing"),
    ("* | in/weights.json | CR *", "either", "blanks mean nothing in JSON"),
    ("* | in/system | text.json: CR *", "either", "blanks mean nothing in JSON"),
    ("ini * | out/ini | the input in/moses.ini", "accepted", "an ini may be edited in its place"),
    ("ini * | out/ini | a * in/moses.ini", "accepted", "an ini may be edited in its place"),
    ("* | in/moses.ini | a section twice", "either", "sections may be continued"),
    ("decode | in/moses.ini | 10^4 features", "either", "features of one name add up"),
    *((f"translate | in/lexicon | {damage}", "either", "words that it does not have are copied")
      for damage in ("empty", "/dev/null", "numbers *")),
    *((f"nbest | in/list | {damage}", "either", "what lines have is passed on, of none nothing")
      for damage in ("empty", "/dev/null", "a line feed", "sentence ids turned round")),
    ("force-score | in/segmented | a line feed", "either", "a list of nothing"),
    *((f"optimize | in/weights.json | {damage}", "either", "any finite number is a start")
      for damage in ("numbers -1", "numbers 10^12", "a weight 0.5")),
    ("generate (table) | in/reordering | other pairs", "either", "others are estimated"),
    ("generate (table) | in/reordering | one score *", "either", "lines stay as they are"),
    *((f"* | in/{file} | *UTF-16", "either", "JSON may be in UTF-16")
      for file in ("weights.json", "model", "search", "lm", "system")),
    ("filter | in/lm.arpa | *", "either", "a language model is passed on as it is"),
    # tables of which only what the texts need is looked at
    *((f"{call} | in/{file} | {damage}", "either", "lines that no text needs are not looked at")
      for call in ("tune", "decode", "force-score", "experiment")
      for file in ("phrase-table", "reordering")
      for damage in ("2 columns", "10^5 columns", "other pairs", "cut off", "a blank line")),
    *((f"filter | in/{file} | {damage}", "either", "lines are passed on as they are")
      for file in ("phrase-table", "reordering")
      for damage in ("2 columns", "10^5 *", "other pairs", "cut off", "numbers *", "one score *",
                     "a negative score", "links *", "a rule's brackets", "a blank line")),
    ("* | in/phrase-table* | 10^5 columns", "either", "columns beyond the fifth mean nothing"),
    ("* | in/phrase-table* | numbers 10^12", "either", "Moses takes any score above 0"),
    ("* | in/* | CR LF line ends", "either", "a carriage return belongs to the last column"),
    # names that are names
    ("* | out/* | a line feed in the name", "either", "a name may have one"),
    ("* | out/* | a name that is not UTF-8", "either", "names are bytes"),
    ("* | out/* | a link loop", "either", "the output takes the link's place"),
    ("* | out/* | a dangling link", "either", "the output takes the link's place, or its target's"),
    ("* | out/* | /dev/null", "either", "nothing is kept, as asked"),
    ("experiment | out/result.json | a *link to in/*", "either", "the output takes its place"),
    ("decode | out/cache | in /proc", "either", "what cannot be kept is read again"),
    ("decode | out/cache | a foreign folder", "accepted", "a cache lies beside other files"),
    ("alignments | out/pictures | a foreign folder", "accepted", "pictures lie beside others"),
    ("analyze scatter | out/scatter | a foreign folder", "accepted", "results lie beside others"),
)  # fmt: skip


def outcome_of(group: str, name: str) -> Outcome:
    """Return how a case may end."""
    if group == "nothing":
        return "accepted"
    for pattern, outcome, _ in RULES:
        if fnmatchcase(name, pattern):
            return outcome
    return "either" if group in _GROUPS else "refused"
