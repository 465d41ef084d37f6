"""The one command, ``phrasescore``: a lazy table of subcommands and the error boundary.

Subcommands are named here as strings and imported when called, so that ``--help`` stays fast (no
torch, no numpy) and this lowest layer never imports the two above it.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback

import click

from phrasescore import __version__
from phrasescore.errors import PhrasescoreError

# name -> (module:command, what it does)
COMMANDS: dict[str, tuple[str, str]] = {
    "train": (
        "phrasescore.commands.train:train",
        "Learn p(target | source), of phrases or sentences.",
    ),
    "score": ("phrasescore.commands.score:score", "Append model scores to a phrase table."),
    "score-text": (
        "phrasescore.commands.score_text:score_text",
        "Score any pairs of texts, word by word if wanted.",
    ),
    "generate": (
        "phrasescore.commands.generate:generate",
        "Let a model write targets: beam search, samples, whole tables.",
    ),
    "prune": ("moses_integration.commands.prune:prune", "Keep the best pairs of a phrase table."),
    "ini": ("moses_integration.commands.ini:ini", "Show a moses.ini, or add the new column to it."),
    "filter": (
        "moses_integration.commands.filter:filter_tables",
        "Cut a system's tables down to given texts.",
    ),
    "preprocess": ("moses_integration.commands.text:preprocess", "Tokenise text as Moses does."),
    "postprocess": ("moses_integration.commands.text:postprocess", "Undo preprocess."),
    "build": ("moses_integration.commands.build:build", "Build a Moses system from parallel text."),
    "doctor": ("moses_integration.commands.doctor:doctor", "Find what is wrong with a system."),
    "decode": ("moses_integration.commands.decode:decode", "Translate with a moses.ini."),
    "translate": (
        "moses_integration.commands.translate:translate",
        "Translate with models of sentences alone.",
    ),
    "alignments": (
        "phrasescore.commands.alignments:alignments",
        "Draw what a model looks at for each word.",
    ),
    "force-score": (
        "moses_integration.commands.force_score:force_score",
        "Recompute the features of an n-best list.",
    ),
    "nbest": ("moses_integration.commands.nbest:nbest", "Add model scores to an n-best list."),
    "tune": ("tuning.commands.tune:tune", "Find weights: decode, merge, optimise, repeat."),
    "optimize": ("tuning.commands.optimize:optimize", "Optimise weights over given n-best lists."),
    "rerank": (
        "tuning.commands.rerank:rerank",
        "Choose translations from an n-best list by weights or risk.",
    ),
    "evaluate": ("tuning.commands.evaluate:evaluate", "Score translations: BLEU, chrF, TER."),
    "compare": (
        "tuning.commands.compare:compare",
        "Tell whether systems differ by more than chance.",
    ),
    "experiment": (
        "tuning.commands.experiment:experiment",
        "Compare systems over tuning seeds, in one table.",
    ),
}


class LazyGroup(click.Group):
    """A group that imports a subcommand only when that one is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the subcommands in the order of the work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one subcommand, or ``None`` for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help table from the short texts, importing nothing."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="phrasescore")
@click.option("--debug", is_flag=True, help="Show Python tracebacks of errors.")
def cli(debug: bool) -> None:
    """Rescore Moses phrase tables with an RNN Encoder-Decoder, and tune for BLEU."""


def main() -> None:
    """Run the command line; print errors as one sentence and exit with their status."""
    debug = "--debug" in sys.argv[1:]
    try:
        # a command that ends early gives its status back here
        if status := cli.main(standalone_mode=False):
            sys.exit(status)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # the reader of our output (head, say) has gone: nothing more to do, and nothing to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except PhrasescoreError as error:
        if debug:
            traceback.print_exc()
        click.echo(f"phrasescore: {error}", err=True)
        sys.exit(error.exit_code)
    except Exception as error:
        if debug:
            raise
        click.echo(
            f"phrasescore: internal error: {type(error).__name__}: {error}. "
            "Run again with --debug (before the command's name) for the details.",
            err=True,
        )
        sys.exit(70)
