"""The command ``phrasescore``: a lazy table of subcommands, and the handling of all errors.

Subcommands are named here as strings and imported when they are called, so that ``--help`` stays
fast (no torch, no numpy), and so that this package never imports ``moses_integration`` or
``tuning``, the packages that build on it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import logging
import os
import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from phrasescore import __version__, errors
from phrasescore.errors import InterruptedWorkError, PhrasescoreError, SettingsError
from phrasescore.runs import progress
from phrasescore.runs.file_kinds import pipes_read_once
from phrasescore.runs.interruption import ignore_signals, interrupt_on_signals

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_OBJECTS = 400_000  # new objects until garbage is collected; importing torch and numba makes fewer
_READER_GONE = 141  # the status that a shell reports for a process that SIGPIPE ended
_SEE_DETAILS = "Run again with --debug (before the command's name) for the details."
_COMPLETE = "_PHRASESCORE_COMPLETE"  # the variable of click in which a shell asks for completions

# environment variables that no command needs; libraries read them and reject invalid values
_UNUSED_VARIABLES = (
    *("BOKEH_LOG_LEVEL", "JOBLIB_MULTIPROCESSING", "LOKY_MAX_CPU_COUNT", "MPLBACKEND"),
    "NUMBA_NUM_THREADS",
)

# environment variables that `phrasescore.compile_cache` checks or sets
_CHOSEN = ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING")

# name -> (the package whose folder ``commands`` has the command's module, the short help)
COMMANDS: dict[str, tuple[str, str]] = {
    "improve": ("tuning", "Make one better system: train, add, tune, keep what helps."),
    "train": ("phrasescore", "Learn p(target | source), of phrases or sentences."),
    "score": ("phrasescore", "Append model scores to a phrase table."),
    "score-text": ("phrasescore", "Score pairs of texts, optionally word by word."),
    "generate": ("phrasescore", "Write targets with a model: beam search, samples, whole tables."),
    "prune": ("moses_integration", "Keep the best pairs of a phrase table."),
    "ini": ("moses_integration", "Add features to a moses.ini, or remove them."),
    "filter": ("moses_integration", "Reduce a system's tables to what given texts need."),
    "preprocess": ("moses_integration", "Tokenise text as Moses does."),
    "postprocess": ("moses_integration", "Undo preprocess."),
    "build": ("moses_integration", "Build a Moses system from parallel text."),
    "doctor": ("moses_integration", "Find what is wrong with a system."),
    "decode": ("moses_integration", "Translate with a moses.ini."),
    "translate": ("moses_integration", "Translate with models of sentences, without Moses."),
    "alignments": ("phrasescore", "Draw the attention of a model."),
    "analyze": ("phrasescore", "Show what a model learned: tables, scatter plots, maps."),
    "force-score": ("moses_integration", "Recompute the features of an n-best list."),
    "nbest": ("moses_integration", "Add model scores to an n-best list."),
    "tune": ("tuning", "Find weights: decode, merge, optimise, repeat."),
    "optimize": ("tuning", "Optimise weights over given n-best lists."),
    "rerank": ("tuning", "Choose translations from an n-best list by weights or risk."),
    "evaluate": ("tuning", "Score translations: BLEU, chrF, TER."),
    "compare": ("tuning", "Tell whether systems differ by more than chance."),
    "experiment": ("tuning", "Compare systems over tuning seeds, in one table."),
    "normalise": ("tuning", "Normalise spelling: learn from words, apply, measure."),
    "report": ("tuning", "Show a folder of results as one page."),
    "warm-up": ("phrasescore", "Compile the code of all commands, once per machine."),
}
# commands whose module has another name
_MODULES = {"preprocess": "text", "postprocess": "text", "prune": "tables", "filter": "tables",
            "optimize": "tune", "compare": "evaluate"}  # fmt: skip


class LazyGroup(click.Group):
    """A group that imports a subcommand only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the subcommands in the order in which people use them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one subcommand, or ``None`` for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        # only for a command: a program that imports the packages handles their log messages itself
        if logging.lastResort is not None:
            logging.getLogger("moses_integration").addHandler(logging.lastResort)
        name = _MODULES.get(cmd_name, cmd_name.replace("-", "_"))
        module = importlib.import_module(f"{COMMANDS[cmd_name][0]}.commands.{name}")
        commands = (each for each in vars(module).values() if isinstance(each, click.Command))
        return next(each for each in commands if each.name == cmd_name)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Offer subcommands and options to a shell, importing no subcommand."""
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(name, help=text)
            for name, (_, text) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)

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
    """Run the command line; print an error as one message and exit with its status."""
    interrupt_on_signals()
    # Imports make hundreds of thousands of objects that are not garbage. Searching them for garbage
    # would take a tenth of the time of a short command.
    gc.set_threshold(_OBJECTS)
    _quieten_libraries()
    os.umask(os.umask(0o077) & 0o077)  # let the program read the files that it creates
    try:
        _open_closed_streams()
        progress.escape_standard_streams()
        status = _status(debug="--debug" in sys.argv[1:])
    except KeyboardInterrupt:
        status = _interrupted("interrupted")
    gc.freeze()  # so that Python does not search for garbage at exit either
    sys.exit(_flush() or status)


def _quieten_libraries() -> None:
    """Hide warnings that libraries address to programmers; Python's ``-W`` shows them."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    for name in _UNUSED_VARIABLES:
        os.environ.pop(name, None)


def _status(debug: bool) -> int:
    """Run the command, print its error if any, and return the exit status."""
    try:
        return _run()
    except (KeyboardInterrupt, click.Abort):
        return _interrupted("interrupted")
    except InterruptedWorkError as error:
        return _interrupted(f"phrasescore: {error}")
    except BrokenPipeError:
        return _READER_GONE
    except Exception as error:
        known = _known(error)
        if known is None and _is_interrupt(error):
            return _interrupted("interrupted")
        # an error without a file name mostly comes from writing standard output
        nameless = isinstance(error, OSError) and error.filename is None
        if nameless and (status := _flush()):
            return status
        if debug:
            import traceback  # late, to keep --help fast

            traceback.print_exc()
        words = f"internal error: {type(error).__name__}: {error}. " + _SEE_DETAILS
        _say(lambda: click.echo(f"phrasescore: {known or words}", err=True))
        return 70 if known is None else known.exit_code


def _run() -> int:
    if os.environ.get(_COMPLETE):
        cli.main(prog_name="phrasescore")  # prints the completions for the shell, and exits
    try:
        # not cli.main, which turns a broken pipe into status 1 without a message
        with pipes_read_once(), cli.make_context("phrasescore", sys.argv[1:]) as context:
            # a command that ends early returns its status here
            return int(cli.invoke(context) or 0)
    except click.ClickException as error:
        _say(error.show)
        return error.exit_code
    except click.exceptions.Exit as stop:
        return stop.exit_code


def _known(error: Exception) -> PhrasescoreError | None:
    """Turn an error into an error that a user can act on; ``None`` for an internal error."""
    if isinstance(error, PhrasescoreError):
        return error
    if isinstance(error, OSError):
        return errors.refusal(error)
    return errors.out_of_memory(error) or _misled(error)


def _misled(error: Exception) -> SettingsError | None:
    """Return an error that names the environment variables over which a library failed, if any.

    The library fails at its own import, or says the name of the variable.
    """
    import traceback  # late, to keep --help fast

    reason = str(error).strip().partition("\n")[0]
    for frame, _ in reversed([*traceback.walk_tb(error.__traceback__)]):
        library = str(frame.f_globals.get("__name__")).partition(".")[0]
        if library in dict(COMMANDS.values()):  # one of our packages
            return None
        begins = library.upper(), f"PY{library.upper()}"
        names = [each for each in os.environ if each.startswith(begins) and each not in _CHOSEN]
        if not (frame.f_code.co_name == "<module>" and not isinstance(error, ImportError)):
            names = [each for each in names if each in str(error)]
        if names and library not in sys.stdlib_module_names:
            problem = f"{library} failed ({reason}); it reads the environment: {', '.join(names)}"
            return SettingsError(problem, remedy="unset or correct the variable")
    return None


def _is_interrupt(error: BaseException | None) -> bool:
    """Tell whether an interrupt caused an error: C code may replace an interrupt by an error."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _interrupted(words: str) -> int:
    ignore_signals()
    _say(lambda: click.echo(words, err=True))
    return InterruptedWorkError.exit_code


def _say(tell: Callable[[], None]) -> None:
    """Call a function that prints on standard error; do nothing if that stream is closed."""
    with contextlib.suppress(OSError):
        tell()


def _open_closed_streams() -> None:
    """Open closed standard streams, so that other files do not get their descriptors.

    Reading and writing these streams still fails, but text for standard error is discarded.
    """
    for number, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # gets the lowest free descriptor
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


def _flush() -> int:
    """Flush standard output; return a status other than 0 if that fails."""
    status = 0
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        status = _READER_GONE
    except OSError as error:
        known = errors.unwritable(error, errors.STANDARD_OUTPUT)
        _say(lambda: click.echo(f"phrasescore: {known}", err=True))
        status = known.exit_code
    if status:
        # when Python exits, it would flush again and print an error
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return status
