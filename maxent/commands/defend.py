"""``maxent defend METHOD``: grow a tree from confidential records, defend it, and write what is to be published.

There is a command for each method of `maxent.models.defenses.registry`, with the options that its parameters make.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import cache, partial
from typing import Annotated, Any

import typer

from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line.options import option, reads_files
from maxent.command_line.parsing import (
    Call,
    Command,
    CommandGroup,
    WrongCall,
    forced,
    help_all,
    is_rare,
    one_or_several,
    spellings,
    split_names,
    usage,
    write_panels,
)
from maxent.command_line.progress import DONE, Job, progress, tell_noticed
from maxent.models.arguments import Parameter, parameters_of
from maxent.models.errors import ARGUMENT, MissingExtra, Problem
from maxent.models.files.output import RECORDS, RELEASE, check_outputs
from maxent.results.text.terminal import print_json

COLUMNS = "truth.csv --target Salary --qi Education,Country,Gender"
# Calls that the help ends with.
EXAMPLES = (
    f"maxent defend none {COLUMNS} -o before.json",
    f"maxent defend prune-parent {COLUMNS} --k 2 -o after.json",
)


class MissingName(StrEnum):
    """Choices of ``--missing``."""

    refuse = "refuse"
    category = "category"


# Arguments of all commands that begin with confidential records.

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="The confidential records, a row for each, .csv or .parquet.")
]
Target = Annotated[str, panels.read(metavar="COLUMN", help="Column of the class, or several: A,B.")]
KnownColumns = Annotated[
    list[str], panels.read(metavar="A,B,...", help="Columns that the adversary's table has, too; others are ignored.")
]
PrivateColumns = Annotated[
    list[str] | None,
    panels.read(metavar="C,D,...", help="Columns that the tree may test and the adversary's table has not."),
]
Categorical = Annotated[list[str] | None, panels.read(metavar="A,B,...", help="Columns whose numbers are only names.")]
Missing = Annotated[
    MissingName, panels.read(help="Cells without a value: an error, or, of categories, a value of their own.")
]


@reads_files(releases=False)
def defend_command(
    method: str,
    data: Data,
    target: Target,
    qi: KnownColumns,
    output: Annotated[
        str,
        panels.written(
            RELEASE,
            RECORDS,
            names=opt.OUTPUT,
            help="Write the result: the release, a .json file, records .csv or .parquet; with several k one for "
            "each: {k} in the name, else -k5 at its end.",
        ),
    ],
    private: PrivateColumns = None,
    categorical: Categorical = None,
    missing: Missing = MissingName.refuse,
    test: opt.Test = None,
    model: Annotated[
        str | None,
        panels.read(
            "--from",
            metavar="MODEL",
            help="A tree or forest to start from, of any tool that 'maxent convert' reads, not grown.",
        ),
    ] = None,
    reading: Any = None,
    csv_literal: opt.CsvLiteral = False,
    as_json: opt.Json = False,
    **options: Any,
) -> Job:
    """The job of `defend`: the arguments of all methods, and the options of one."""
    columns = {
        "target": one_or_several(target),
        "qi": split_names("qi", qi),
        "private": split_names("private", private or ()),
        "categorical": split_names("categorical", categorical or ()),
        "missing": missing.value,
        "test": test,
        "model": model,
        "reading": reading,
    }
    return partial(_run, method, data, columns, options, as_json, output, csv_literal)


def _run(
    method: str,
    data: str,
    columns: dict[str, Any],
    options: dict[str, Any],
    as_json: bool,
    output: str,
    csv_literal: bool,
) -> int:
    from maxent.api.defend import defend
    from maxent.models.defenses.registry import asked_for, given, parameters
    from maxent.models.tables.hierarchies import hierarchy_files
    from maxent.results.defended import RECORDS, TREES, file_names, print_defended

    options = given({name: value.value if isinstance(value, StrEnum) else value for name, value in options.items()})
    inputs = [data, columns["test"], columns["model"]]
    for name, value in options.items():
        if parameters()[name].about.files == "folder":
            options[name] = hierarchy_files(value, [*columns["qi"], *columns["private"]])
            inputs += options[name].values()
        elif parameters()[name].about.files:
            inputs.append(value)
    asked = asked_for(method, options)
    ks = [getattr(each, "k", None) for each in asked]
    files = file_names(output, ks)
    suffixes = TREES if asked[0].predicts else RECORDS
    named = ["-o"] if len(files) == 1 else [f"-o (k = {k})" for k in ks]
    check_outputs({name: (file, suffixes) for name, file in zip(named, files, strict=True)}, inputs)
    with progress("reading and growing") as told:
        result = defend(data, method, **columns, progress=told, **options)
    tell_noticed(result.noticed)
    result.save(output, csv_literal=csv_literal)
    if as_json:
        summary = result.summary
        for row, file in zip(summary["releases"], files, strict=True):
            row["file"] = file
        print_json(summary)
    else:
        print_defended(result, files)
    return DONE


# --- A command for each method ---------------------------------------------------------------------------------


# Key of a context's ``meta`` where a help is asked for.
HELP = "maxent.commands.defend.help"


class Methods(CommandGroup):
    """Grow a decision tree from confidential records, defend it, and write the release.

    Prints how many leaves are left, how well it predicts, and what is guaranteed. 'maxent defend METHOD --help' lists
    the options of a method.
    """

    # Its commands are the methods. Options may stand before the method, too.
    noun = "METHOD"
    all_shown: Any = None

    def list_commands(self, ctx: Any) -> list[str]:
        from maxent.models.defenses.registry import method_names

        return [*method_names()]

    def get_command(self, ctx: Any, name: str) -> Any:
        from maxent.models.defenses.registry import is_method

        if not is_method(name):
            return None
        try:
            return _of_method(name, alone=HELP in ctx.meta)
        except MissingExtra as error:
            if ctx.resilient_parsing:
                return None
            found = Problem(ARGUMENT, self.noun, "a method that can be loaded", str(error))
            raise WrongCall([found], usage(self, ctx)) from None

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [self.noun, *_of_any().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        from maxent.models.defenses.registry import summaries

        with formatter.section("Methods"):
            formatter.write_dl([*summaries().items()])
        own = self.get_params(ctx)
        write_panels([*_of_any().params, forced(own[-1]), *own], ctx, formatter)

    def get_params(self, ctx: Any) -> list[Any]:
        *own, last = super().get_params(ctx)
        if self.all_shown is None:
            self.all_shown = help_all(last, sum(map(is_rare, _of_any().params)) + 1)
        return [*own, last, self.all_shown]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        at, helps = _first_argument(args), {"--help", "-h", "--help-all"} & {*args}
        if at is not None:
            args = [args[at], *args[:at], *args[at + 1 :]]
        elif not ctx.resilient_parsing and not helps:
            raise self.unknown(ctx, None, args)
        if helps:
            ctx.meta[HELP] = True
        return super().parse_args(ctx, args)

    def unknown(self, ctx: Any, name: str | None, args: Sequence[str]) -> WrongCall:
        """With all else that is wrong with the call, whatever the method."""
        refusal = super().unknown(ctx, name, args)
        # In a context of its own: in that of a group, options are none behind the first argument.
        command = _of_all()
        inner = command.context_class(command, info_name=ctx.info_name, parent=ctx.parent)
        return WrongCall([*refusal.problems, *command.problems(inner, [*args])], refusal.usage)


def _first_argument(args: Sequence[str]) -> int | None:
    """The place of the first argument that is no option and no value of one, None without any."""
    at = 0
    while at < len(args):
        if not args[at].startswith("-"):
            return at
        at += 2 if at + 1 < len(args) and args[at] in _valued() else 1
    return None


@cache
def _valued() -> frozenset[str]:
    """The options of all methods that have a value."""
    flags = (param for param in _of_all().params if not getattr(param, "is_flag", False))
    return frozenset(option for param in flags for option in param.opts)


class MethodCommand(Command):
    """A command that also spells the options of other methods, which are hidden, where it refuses them."""

    def invoke(self, ctx: Any) -> Call:
        call = super().invoke(ctx)
        return Call(call.job, {**spellings(_of_all().params), **call.names})


@cache
def _of_method(name: str, *, alone: bool = False) -> Any:
    """The command of a method. Options of others are known but not shown: they are refused with the names of those.

    Its help needs none of them, and is there sooner ``alone``.
    """
    from maxent.models.defenses.registry import OWN, load_method, parameters

    kind = load_method(name)
    own = parameters_of(kind)
    others = [] if alone else [each for each in parameters().values() if each.name not in own]
    summary = OWN[name][1] if name in OWN else kind.summary
    text = summary + (f"\n\nGuaranteed: {kind.promise.format(k='k')}." if kind.promise else "")
    return _command(name, own.values(), others, text, kind.examples)


@cache
def _of_all() -> Any:
    """A command with the options of all methods."""
    from maxent.models.defenses.registry import parameters

    return _command(Methods.noun, parameters().values(), (), "", ())


@cache
def _of_any() -> Any:
    """A command with the options that all methods have."""
    return _command(Methods.noun, (), (), "", ())


def _command(
    name: str, own: Iterable[Parameter], others: Iterable[Parameter], text: str, examples: Sequence[str]
) -> Any:
    """A command of Typer's with the parameters of `defend_command` and of a method."""

    def job(**values: Any) -> Job:
        return defend_command(name, **values)

    given = inspect.signature(defend_command, eval_str=True).parameters.values()
    shared = [each.replace(kind=each.KEYWORD_ONLY) for each in given if each.name not in ("method", "options")]
    of_method = (*map(_option, own), *(_option(each, hidden=True) for each in others))
    taken = {each.name for each in shared}  # whatever a third party calls its parameters
    options = [*shared, *(each for each in of_method if each.name not in taken)]
    job.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    job.__annotations__ = {each.name: each.annotation for each in options}
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(name, cls=MethodCommand, help=text, short_help=text, epilog="\n".join(examples))(job)
    return typer.main.get_command(app)


def _option(each: Parameter, *, hidden: bool = False) -> inspect.Parameter:
    """A parameter of a method as one of its command."""
    found = option(each, each.default, hidden=hidden, repeated=each.name == "k")
    return found.replace(kind=inspect.Parameter.KEYWORD_ONLY)


command = Methods
