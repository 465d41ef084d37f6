"""``phrasescore improve``: one better system, from a system or parallel text."""

from __future__ import annotations

from pathlib import Path

from moses_integration.commands.build import BuildOptions
from moses_integration.commands.options import SYSTEM
from moses_integration.system_building.build_settings import Case
from phrasescore.commands.declarations import argument, command, option
from phrasescore.commands.options import SEED, BoundedInt, Result, output_folder, say
from phrasescore.commands.paths import PathName, Use
from phrasescore.commands.train import duration
from phrasescore.errors import SettingsError
from tuning.loop.tuning_settings import OptimizationSettings

_FILE = PathName(Use.READ, Path)


class ImproveOptions(Result):
    """Options of ``improve``."""

    system: str | None = argument(SYSTEM, "[SYSTEM]", required=False)
    parallel: tuple[Path, Path] = option(
        _FILE,
        "The parallel text: with SYSTEM, the text that it was built from, in its tokens; "
        "otherwise any parallel text, from which a system is built.",
        nargs=2,
        required=True,
        metavar="SOURCE TARGET",
    )
    source: Path = option(_FILE, "The dev set, prepared like the parallel text.", required=True)
    reference: Path = option(_FILE, "The reference translation of the dev set.", required=True)
    target_text: Path | None = option(
        _FILE,
        "More text of the target language, prepared like the parallel text. The neural language "
        "model learns from it too, and a system that is built has an n-gram model of it.",
    )
    output: str = output_folder("The folder for all results.")
    time: float = option(
        duration,
        "The time for all steps together, such as 90 (seconds), 45m or 2h, also those of earlier, "
        "interrupted calls. Tuning alone may take longer, and so may training a model that an "
        "earlier call left out.",
        default="2h",
        metavar="TIME",
        excludes=("passes",),
    )
    passes: int | None = option(
        BoundedInt(1, 10**6),
        "Instead of a time: the passes of the sentence model over the text, so that the result is "
        "the same on every run; the other models make fewer passes.",
    )
    seed: int = option(
        SEED, "The seed of all trainings and tunings.", default=OptimizationSettings.seed
    )
    tokenize: tuple[str, str] | None = BuildOptions.tokenize
    case: Case = BuildOptions.case
    lowercase: bool = BuildOptions.lowercase

    @property
    def build_options(self) -> tuple[str, ...]:
        """The options of ``build``."""
        words = ("--tokenize", *self.tokenize) if self.tokenize else ()
        case = "lower" if self.lowercase else self.case
        return words if case == "keep" else (*words, "--case", case)

    def check(self) -> None:
        """Refuse options of ``build`` beside a system."""
        if self.system is not None and self.build_options:
            raise SettingsError(
                "--tokenize, --case and --lowercase are for building a system, but one is given: "
                f"{self.system} was read as SYSTEM",
                remedy=f"to build a system, leave out {self.system}; to improve it, leave out "
                "these options, and give texts in the tokens of the system (preprocess)",
            )


@command("improve", ImproveOptions)
def improve(options: ImproveOptions) -> None:
    """Make a better system from SYSTEM, or build one from parallel text and improve it.

    Trains a phrase model, a neural language model and a model of sentences, adds them to the
    system, tunes, and leaves out what does not help on the dev set. FOLDER/system is the result:
    phrasescore decode FOLDER/system translates with it. FOLDER/improve.md says what each part
    brings, and FOLDER/commands.sh has the steps, all of which are commands. The same command
    continues work that was stopped.
    """
    from tuning.improvement.plan import ImprovePlan
    from tuning.improvement.session import improve as run

    plan = ImprovePlan(
        Path(options.output).resolve(),
        None if options.system is None else Path(options.system).resolve(),
        (options.parallel[0].resolve(), options.parallel[1].resolve()),
        (options.source.resolve(), options.reference.resolve()),
        options.build_options,
        options.target_text and options.target_text.resolve(),
        options.seed,
    )
    record = run(plan, None if options.passes else options.time, options.passes, say)
    options.show(record.to_json(), f"{record.verdict}\n{plan.folder / 'system'}\n")
