"""``maxent check``: a release against a written policy, with a record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import typer

from maxent.api.decision_options import TIME, Checking
from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line.options import completed_policy, reads_files, split_last, stated
from maxent.command_line.parsing import split_names
from maxent.command_line.progress import DONE, UNRELIABLE, Job, progress, tell, tell_noticed
from maxent.command_line.verdict import AskedDossier, AskedVerdict, Handed, option
from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.files.input_files import is_standard_input
from maxent.models.files.output import CHECKS, RECORD, check_outputs
from maxent.results.text.terminal import print_json, print_lines, print_table

# Calls that its help ends with.
EXAMPLES = (
    "maxent check tree.json qi.csv --truth truth.csv --policy policy.toml --record record.json",
    "maxent check --explain MX101",
)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What tells of checks, and does nothing else."""

    listed: bool = option("output", "List all checks, and nothing else.", default=False, option="--list")
    explain: str | None = option("output", "Explain a check, such as MX101, and nothing else.", "ID")


@reads_files(
    options=stated(Checking, time_limit=None),
    asked=AskedVerdict,
    handing=Handed,
    dossiers=AskedDossier,
    told=Catalogue,
)
def command(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RELEASE... QI",
            help="The release: a maxent/1 file, or a model of another tool (docs/models.md), and statements beside it "
            "(docs/statements.md); last the adversary's table of quasi-identifiers, .csv or .parquet.",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        panels.limit(
            metavar="POLICY",
            help="The policy: a .toml, a .yaml of ACRO, or satre, uk-llc, ehds or opensafely (docs/policies.md).",
            autocompletion=completed_policy,
        ),
    ] = None,
    options: Any = None,
    reading: Any = None,
    record: Annotated[
        str | None,
        panels.written(RECORD, help="Write a record that others can verify: one .json file (docs/policies.md)."),
    ] = None,
    as_json: opt.Json = False,
    output: Annotated[str | None, opt.result(CHECKS)] = None,
    csv_literal: opt.CsvLiteral = False,
    asked: Any = None,
    handing: Any = None,
    dossiers: Any = None,
    told: Any = None,
) -> Job:
    """Check a release against a written policy: a finding for each of its checks, a verdict, and a record.

    Exit status: 0 within all limits, 3 beyond one, 4 where one cannot be told. Without --time-limit, compiling and
    solving take at most 120 seconds.
    """
    if told.listed or told.explain is not None:
        return partial(_tell_checks, told.explain, as_json)
    sensitive = options["sensitive"]
    options |= {
        "sensitive": split_names("sensitive", [sensitive]) if sensitive else None,
        "time_limit": options["time_limit"] or TIME,
        "title": asked.title or "",
        "purpose": asked.purpose or "",
        "no_marginal": asked.no_marginal,
        "reading": reading,
    }
    written = {"record": record, "output": output, "csv_literal": csv_literal, "handed": handing, "dossiers": dossiers}
    releases, qi = split_last(files or [], "RELEASE... QI")
    return partial(_run, releases, qi, policy, options, as_json, written, asked)


def _run(
    releases: list[str],
    qi: str,
    policy: str | None,
    said: dict[str, Any],
    as_json: bool,
    written: dict[str, Any],
    asked: AskedVerdict,
) -> int:

    named = [
        *(("model", each) for each in releases),
        ("table", qi),
        ("truth", said["truth"]),
        ("control", said["control"]),
        ("population", said["population"]),
    ]
    if written["record"] is not None and any(path is not None and is_standard_input(path) for _, path in named):
        expected = "files alone, as it has their hashes"
        raise InvalidInput("options", [Problem(ARGUMENT, "record", expected, "standard input")])
    from maxent.api.check import check, read_by, recorded_options
    from maxent.disclosure.ladder import about
    from maxent.disclosure.limits import WORDS, Limits
    from maxent.models.files.result_files import POSTERIOR, REPORT
    from maxent.policy.policy import read_policy

    stated = Limits(**{name: getattr(asked, name) for name in Limits.__dataclass_fields__}).as_dict()
    limits = about(said["adversary"], stated)
    chosen = read_policy(policy).with_limits(limits)
    own = [chosen.file_of("facts"), chosen.file_of("marginal"), *(each.path for each in chosen.files)]
    release = releases if len(releases) > 1 else releases[0]
    read = [*releases, qi, said["truth"], said["control"], said["population"], *own]
    from maxent.api.case import taken
    from maxent.api.estimate import Solving
    from maxent.commands.convert import read_parameters
    from maxent.policy.record import stands
    from maxent.results import review as results

    said["parameters"] = read_parameters(said["parameters"] or []) or None
    arguments = {**said, "qi": qi, "policy": policy, "limits": limits}
    _, inputs = read_by(release, chosen, arguments)
    record = written["record"]
    recorded = recorded_options(arguments, taken(Solving, said), said["reading"])
    if record is not None and stands(record, chosen, inputs, recorded):
        tell(f"{record} is left as it is: it has a decision, and is of the same files, policy and version")
        record = None
    files = {"-o": (written["output"], POSTERIOR), "--record": (record, (".json",)), "--report": (asked.report, REPORT)}
    asked_dossiers: AskedDossier = written["dossiers"]
    files |= {name: (each, REPORT) for name, each in asked_dossiers.files(numbers=written["record"] is None).items()}
    check_outputs(files, read)
    asked.check_texts(asked_dossiers.asked, written["record"])
    handing = written["handed"]
    handing.check({name: path for name, (path, _) in files.items()}, read)
    if chosen.never_passes:
        tell(chosen.never_passes)
    with progress() as told:
        found = check(release, qi, policy, **said, **stated, interruptible=True, progress=told)
    again = {name: said[name] for name in ("target", "truth", "control", "population", "people", "adversary")}
    asked_by = results.Asked(
        ["check", *releases, qi],
        {"policy": policy, **opt.beyond_defaults(Checking, again), **stated},
        found.review.asked.inputs,
    )
    found = replace(found, review=replace(found.review, asked=asked_by))
    tell_noticed(found.review.noticed)
    if written["output"] is not None:
        found.save(written["output"], csv_literal=written["csv_literal"])
    if asked.report is not None:
        found.report(asked.report, **asked.texts)
    if found.review.solved:
        asked_dossiers.write(found, asked.texts, numbers=written["record"] is None)
    if record is not None:
        reports = asked_dossiers.by_role if found.review.solved else {}
        found.record(record, written={"report": asked.report, **reports})
    handing.write(found)
    if as_json:  # after all files: where one cannot be written, the object on standard output says that
        print_json(found.summary)
    else:
        print_lines([found.title, *found.lines])
    if found.exit_status == UNRELIABLE:
        tell(found.review.trouble)
    elif found.exit_status != DONE:
        tell(f"checked against {found.policy.name or 'the policy'}: {WORDS[found.status]}")
    return found.exit_status


def _tell_checks(explain: str | None, as_json: bool) -> int:
    """Print all checks, or one of them with everything that is known of it."""
    from maxent.policy.checks.page import explained, listed_checks
    from maxent.policy.checks.registry import CHECKS

    if explain is not None:
        from maxent.models.errors import ARGUMENT, invalid
        from maxent.models.hints import close_to

        if explain not in CHECKS:
            expected = "the id of a check (maxent check --list)"
            raise invalid("options", ARGUMENT, "explain", expected, f"{explain!r}{close_to(explain, CHECKS)}")
        if as_json:
            print_json(explained(CHECKS[explain]))
        else:
            print_lines(f"{name}: {text}" for name, text in explained(CHECKS[explain]).items())
    elif as_json:
        print_json({"checks": [explained(check) for check in CHECKS.values()]})
    else:
        print_table(("id", "key", "what is limited"), listed_checks(), (False, False, False))
    return DONE
