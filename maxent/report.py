"""Results as text, JSON and files; numbers are formatted here, none is computed."""

from __future__ import annotations

import errno
import json
import os
import secrets
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from math import isfinite, log
from typing import TYPE_CHECKING, Any

from maxent.models.errors import InvalidInput, Problem
from maxent.models.strict_json import unusable_file

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import Console

    from maxent.result import Estimate

POSTERIOR = (".csv", ".parquet", ".json")
"""Suffixes of the files that a result can be written to."""

REPORT = (".html",)
"""Suffixes of the files that a report can be written to."""

SHOWN_ROWS = 20
SHOWN_CONTRADICTIONS = 10
SOURCE = "command line"


def printable(text: object) -> str:
    """A text in which nothing moves the cursor or breaks the line: control characters are written as escapes."""
    string = str(text)
    if string.isprintable():
        return string
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in string)


def strict(value: object) -> object:
    """A summary as strict JSON has it: NumPy scalars as numbers, NaN and infinities as None."""
    if isinstance(value, Mapping):
        return {str(key): strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return strict(value.tolist())
    return None if isinstance(value, float) and not isfinite(value) else value


def as_json_text(value: object) -> str:
    """One JSON object as ASCII text, fit for any output encoding."""
    return json.dumps(strict(value), allow_nan=False, indent=2)


def check_outputs(outputs: Mapping[str, tuple[str | None, Sequence[str]]], inputs: Iterable[str | None] = ()) -> None:
    """Refuse files that cannot be written, before any work is done.

    Parameters
    ----------
    outputs : mapping
        Option -> (file or None, the suffixes it may have; none stands for any).
    inputs : iterable of str or None
        Files that are read, which an output must not replace.

    Raises
    ------
    InvalidInput
        Naming every option whose file has another suffix, is a directory or a device, is in a folder that does not
        exist or cannot be written to, or is an input or another output.
    """
    problems = []
    taken = {os.path.realpath(path): "an input" for path in inputs if path is not None and "\0" not in path}
    for option, (path, suffixes) in outputs.items():
        if path is None:
            continue
        expected, found = "a file that can be written", ""
        folder = os.path.dirname(os.path.realpath(path)) if "\0" not in path else ""
        if suffixes and not path.lower().endswith(tuple(suffixes)):
            expected = "a file name that ends in " + " or ".join(suffixes)
            found = _short(path)
        elif not folder or not os.path.basename(path) or os.path.isdir(path):
            found = f"{_short(path)}, " + ("which is a directory" if folder else "which is no file name")
        elif _is_special(path):
            found = f"{_short(path)}, which is no regular file"
        elif not os.path.isdir(folder):
            found = f"{_short(path)}, whose folder does not exist"
        elif not os.access(folder, os.W_OK):
            found = f"{_short(path)}, in whose folder you may not write"
        elif os.path.realpath(path) in taken:
            expected, found = "a file of its own", f"{_short(path)}, which is {taken[os.path.realpath(path)]} too"
        else:
            taken[os.path.realpath(path)] = f"the file of {option}"
        if found:
            problems.append(Problem("argument", option, expected, found))
    if problems:
        raise InvalidInput(SOURCE, problems)


def _short(path: str) -> str:
    return repr(path) if len(path) <= 60 else f"{path[:57]!r}..."


def write_atomically(path: str | os.PathLike[str], write: Callable[[str], None]) -> None:
    """Let ``write`` fill a temporary file in the same folder, which then takes the place of ``path`` at once.

    Raises
    ------
    InvalidInput
        When the operating system refuses; nothing is left behind.
    """
    source = os.fspath(path)
    if _is_special(source):
        raise unusable_file(source, "a file that can be written", OSError(errno.EINVAL, "no regular file"))
    target = os.path.realpath(source)  # through a symbolic link, so that the link stays one
    temporary = os.path.join(os.path.dirname(target), f".maxent-{secrets.token_hex(8)}.tmp")
    try:
        write(temporary)
        os.replace(temporary, target)
    except OSError as error:
        raise unusable_file(source, "a file that can be written", error) from None
    finally:
        with suppress(OSError):
            os.unlink(temporary)  # after a success it is no longer there


def _is_special(path: str) -> bool:
    """Whether something other than a file is there, say a device, which must not be replaced."""
    return os.path.exists(path) and not os.path.isfile(path)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text atomically; errors as in `write_atomically`."""

    def write(temporary: str) -> None:
        with open(temporary, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)

    write_atomically(path, write)


def save_estimate(estimate: Estimate, path: str | os.PathLike[str]) -> None:
    """Write the posterior (.csv, .parquet), or the summary with the posterior as a list of rows (.json).

    Raises
    ------
    InvalidInput
        For another suffix, or a place that cannot be written; nothing is left behind.
    """
    save_frame(path, estimate.posterior, lambda rows: {**estimate.summary, "posterior": rows})


def save_rows(document: Mapping[str, Any], key: str, path: str | os.PathLike[str]) -> None:
    """Write a document as JSON, or its list of rows under ``key`` as a table; errors as in `save_estimate`."""
    check_outputs({"output": (os.fspath(path), POSTERIOR)})
    import pandas as pd

    if os.fspath(path).lower().endswith(".json"):
        write_text(path, as_json_text(document) + "\n")
        return
    cells = [{name: _cell(value) for name, value in row.items()} for row in document[key]]
    # As objects: a column of whole numbers with gaps would turn into floats.
    save_frame(path, pd.DataFrame(cells, dtype=object), lambda rows: {**document, key: rows})


def _cell(value: object) -> object:
    """A value of a row as one cell: lists as JSON."""
    return json.dumps(value) if isinstance(value, list) else value


def save_frame(
    path: str | os.PathLike[str], frame: DataFrame, document: Callable[[list[dict[str, Any]]], Mapping[str, Any]]
) -> None:
    """Write a table (.csv, .parquet), or the document made of its rows (.json); errors as in `save_estimate`."""
    check_outputs({"output": (os.fspath(path), POSTERIOR)})
    suffix = os.fspath(path).lower().rpartition(".")[2]
    if suffix == "csv":
        write_atomically(path, lambda temporary: frame.to_csv(temporary, index=False, lineterminator="\n"))
        return
    named = frame.set_axis(_distinct([str(name) for name in frame.columns]), axis=1)
    if suffix == "parquet":
        write_atomically(path, lambda temporary: named.to_parquet(temporary, index=False))
    else:
        rows = [dict(zip(named.columns, row, strict=True)) for row in named.itertuples(index=False, name=None)]
        write_text(path, as_json_text(document(rows)) + "\n")


def _distinct(names: list[str]) -> list[str]:
    """Names of columns, all different: an attribute may be called ``count`` as well, the later one is ``count.1``."""
    taken = set(names)
    seen: set[str] = set()
    for i, name in enumerate(names):
        number = 0
        while names[i] in seen:
            number += 1
            if f"{name}.{number}" not in taken:
                names[i] = f"{name}.{number}"
        seen.add(names[i])
    return names


# --- For people to read ----------------------------------------------------------------------------------------


def console() -> Console:
    """Standard output; what is not a terminal gets plain text of any width."""
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            raise  # Rich would exit with 1, which says that the result is not to be relied on

    if sys.stdout.isatty():
        return Output(highlight=False, markup=False, emoji=False)
    return Output(
        file=sys.stdout,
        force_terminal=False,
        color_system=None,
        width=1 << 20,
        highlight=False,
        markup=False,
        emoji=False,
    )


def print_estimate(estimate: Estimate) -> None:
    """Print the posterior, or its surest rows, and what it discloses, to standard output."""
    from rich.table import Table
    from rich.text import Text

    out = console()
    shown, rest = surest_rows(estimate)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    attributes = len(estimate.program.table.attributes)
    numeric = [a.type == "numeric" for a in estimate.program.table.attributes]
    for i, name in enumerate(estimate.columns):
        right = i >= attributes or numeric[i]
        table.add_column(Text(printable(name)), justify="right" if right else "left", overflow="fold")
    for row in map(estimate.row, shown):
        cells = [value if isinstance(value, str) else f"{value:.15g}" for value in row[: attributes + 1]]
        cells += [f"{value:.3f}" for value in row[attributes + 1 :]]
        table.add_row(*(Text(printable(cell)) for cell in cells))
    lines = [] if out.is_terminal else _plain_lines(out, table)
    if out.is_terminal:
        out.print(table)
    for line in [*lines, *rest, "", *summary_lines(estimate)]:
        out.print(Text(printable(line)), soft_wrap=True)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines of text to standard output."""
    for line in lines:
        print(printable(line))


def _plain_lines(out: Console, table: Any) -> list[str]:
    """A table as lines of text without spaces at their ends."""
    with out.capture() as captured:
        out.print(table)
    return [line.rstrip() for line in captured.get().splitlines()]


def surest_rows(estimate: Estimate) -> tuple[list[int], list[str]]:
    """The quasi-identifiers to show (rows of the table), and a line that says what was left out."""
    if len(estimate.order) <= SHOWN_ROWS:
        return estimate.order.tolist(), []
    import numpy as np

    surest = estimate.probabilities[estimate.order].max(axis=1)
    order = np.lexsort((-estimate.program.table.counts[estimate.order], -surest))
    text = f"... the {SHOWN_ROWS} surest of {len(order)} quasi-identifiers; -o FILE writes all of them"
    return estimate.order[order[:SHOWN_ROWS]].tolist(), [text]


def summary_lines(estimate: Estimate) -> list[str]:
    """What a release discloses, in plain language."""
    program, found = estimate.program, estimate.disclosure
    title = program.release.target.name
    target = title.lower() if title.istitle() and len(title) > 1 else title
    published = "tree" if program.scaling is None else "records"
    certain = f"the {target} of {found.certain} is certain" if found.certain else f"nobody's {target} is certain"
    lines = [
        f"{_plural(program.table.individuals, 'individual')}, "
        f"{_plural(len(program.table), 'distinct quasi-identifier')}; {certain}",
        f"an adversary who guesses by this estimate expects to be right for {found.bayes_vulnerability:.1%}".replace(
            "%", " %"
        )
        + f" of them ({100 * found.gain.vulnerability_before:.1f} % without the {published})",
        *_divergence_lines(estimate),
        f"largest posterior {found.max_posterior:.3f}; entropy {found.entropy:.4f} of at most "
        f"{log(program.n_classes):.4f} nats",
        "constraints: " + kinds_line(program.kinds()),
        f"{_solver(estimate)}: {_worth(estimate)}; largest violation {estimate.outcome.violation:.1e}",
    ]
    lines += [f"note: {note}" for note in estimate.notes]
    if estimate.contradictions:
        lines.append("contradictions:")
        lines += [f"  {found}" for found in estimate.contradictions[:SHOWN_CONTRADICTIONS]]
        if len(estimate.contradictions) > SHOWN_CONTRADICTIONS:
            lines.append(f"  and {len(estimate.contradictions) - SHOWN_CONTRADICTIONS} more")
    return lines


def kinds_line(kinds: Mapping[str, int]) -> str:
    """How many constraints of each kind there are, those without any left out: ``7 qi, 5 label``."""
    return ", ".join(f"{number} {kind}" for kind, number in kinds.items() if number)


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _divergence_lines(estimate: Estimate) -> list[str]:
    found, individual = estimate.disclosure.divergence, estimate.disclosure.individual
    if found is None or individual is None:
        return []
    if found.overall is None:
        what = _plural(found.infinite, "quasi-identifier")
        lines = [f"overall divergence from the truth inf: the estimate rules out what is true of {what}"]
    else:
        lines = [f"overall divergence from the truth {found.overall:.4f} nats: the smaller, the more is disclosed"]
    table = estimate.program.table
    if len(table) <= SHOWN_ROWS:
        worst = found.top[0]
        return [*lines, f"largest divergence {individual[worst]:.4f} nats ({table.describe(worst)})"]
    lines.append("largest divergences (nats):")
    return lines + [f"  {individual[row]:.4f}  {table.describe(row)}" for row in found.top]


def _solver(estimate: Estimate) -> str:
    from maxent.solvers.parts import PRESOLVE

    closed = estimate.outcome.parts == estimate.outcome.backends.get(PRESOLVE, 0)
    return "solved in closed form" if closed else f"solved by {estimate.backend.replace('+', ' and ')}"


def _worth(estimate: Estimate) -> str:
    """What the answer is worth, in words."""
    if estimate.certificate == "global":
        return "the global optimum" + (" of a convex problem" if estimate.outcome.convex else ", proved by a bound")
    if estimate.certificate == "gap":
        optimum = "the optimum but for rounding" if estimate.outcome.convex else "a local optimum"
        return f"{optimum}, whose entropy can be at most {estimate.outcome.entropy_upper_bound:.4f} nats"
    if estimate.certificate == "local":
        return "a local optimum"
    status = {
        "inconsistent": "inconsistent statements",
        "not_converged": "not converged",
        "time_limit": "stopped at the time limit",
        "interrupted": "interrupted",
    }
    return status.get(estimate.outcome.status, estimate.outcome.status) + ", not to be relied on"
