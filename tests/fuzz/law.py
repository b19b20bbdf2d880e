"""The law that every outcome keeps: a result that is whole, or a refusal that says why, and nothing else."""

import csv
import io
import json
import os
import re
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from fuzz.case import Case
from maxent.__main__ import main
from maxent.commands import main as cli
from maxent.models.errors import MaxentError
from maxent.models.files import input_files

SECONDS = 20.0  # Of the processor, after which a case is taken to hang: the clock on the wall is not only ours

LIBRARIES, ROOM, TIMES = 150, 150, 30
"""Megabytes that libraries take which a case is the first to load; what reading a model may take beside its content,
and how often the content."""

LONGEST = 3_000  # Characters of a line of a message

SAID = re.compile(r"maxent: .+: expected .+, found .+")
PLAIN = re.compile(r"maxent: (note: .+|the result is not to be relied on.*|\d+ problems|and \d+ more problems.*)")
USAGE = re.compile(r"Usage: maxent .*| +\S.*|'maxent.* --help' lists its options\.")
OUTPUTS = ("-o", "--output", "--report", "--plot", "--pyomo", "--nl")
HELP = {"--help", "-h", "--version", "--install-completion", "--show-completion"}


@dataclass(frozen=True)
class Outcome:
    """Outcome of a case: the exit status, the output, and the breach of the law, None for none."""

    status: int | None
    out: str
    err: str
    broken: str | None


class Hangs(BaseException):
    """A case took too long; nothing that it runs may take this for an error of its own."""


def outcome(case: Case) -> Outcome:
    """Run a case in a folder of its own, and judge what came of it."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name, _at(Path(name)) as folder:
        for path, content in case.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        status, out, err, broken = _run(case)
        if broken is None:
            broken = next(_breaches(case, folder, status, out, err), None)
        return Outcome(status, out, err, broken)


@contextmanager
def _at(folder: Path) -> Iterator[Path]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield folder
    finally:
        os.chdir(before)


def _run(case: Case) -> tuple[int | None, str, str, str | None]:
    """Call the program: status, standard output and error, and what it ended with when that is no status."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors=e) for e in ("strict", "backslashreplace"))
    stdin, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO())
    input_files._kept.clear()
    status, broken = None, None
    before = _reset_peak() if case.arguments[:1] == ("convert",) else None
    try:
        with redirect_stdout(out), redirect_stderr(err), _limited():
            status = main(list(case.arguments)) if case.python is None else _in_python(case.python)
    except Hangs:
        broken = f"took more than {SECONDS:g} s\n{traceback.format_exc(limit=-8)}"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        broken = f"{type(error).__name__}\n{traceback.format_exc(limit=-12)}"
    finally:
        sys.stdin = stdin
    if before is not None and broken is None:
        taken = _memory("VmHWM") - before
        if taken > LIBRARIES + ROOM + TIMES * sum(map(len, case.files.values())) / 1e6:
            broken = f"reading took {taken:.0f} MB"
    texts = []
    for stream in (out, err):
        try:
            stream.flush()
        except ValueError as error:
            broken = broken or f"{type(error).__name__}: {error}"
        texts.append(stream.buffer.getvalue().decode("utf-8", "replace"))
    return status, *texts, broken


def _in_python(call: Any) -> int:
    """Call a function: 0, or 2 and the error printed where it is one of ours."""
    try:
        call()
    except MaxentError as error:
        print("".join(f"maxent: {line}\n" for line in str(error).splitlines()), end="", file=sys.stderr)
        return 2
    return 0


@contextmanager
def _limited() -> Iterator[None]:
    """Let a case take some time of the processor."""

    def over(number: int, frame: FrameType | None) -> None:
        raise Hangs

    before = signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _memory(what: str) -> float:
    """Megabytes of this process, of which ``/proc`` tells."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what)]
    return int(line.split()[1]) / 1000


def _reset_peak() -> float | None:
    """Let what a process takes at most be counted anew: megabytes that it has; None where systems do not tell."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _memory("VmRSS")
    except OSError:
        return None


def limit_memory(more: int = 4 << 30) -> None:
    """Let this process take so many bytes more than it has, for the rest of its life."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, hard))


@contextmanager
def one_parser() -> Iterator[None]:
    """Let Typer make the parser once: it makes another with every call, which takes most of the time of a refusal."""
    from typer.main import get_command

    before, made = cli.app, get_command(cli.app)
    cli.app = made  # type: ignore[assignment]
    try:
        yield
    finally:
        cli.app = before


def _breaches(case: Case, folder: Path, status: int | None, out: str, err: str) -> Iterator[str]:
    """Breaches of the law by an outcome."""
    if status not in range(5):
        yield f"exit status {status}"
    if "Traceback" in out + err:
        yield "a traceback"
    if steering := {c for c in out + err if not c.isprintable()} - {"\n"}:
        yield f"characters that steer a terminal: {sorted(steering)}"
    if case.secret and (shown := pieces_in(case.secret, out + err)):
        yield f"content of a file that is none of ours: {shown[0]}"
    if long := next((line for line in err.splitlines() if len(line) > LONGEST), None):
        yield f"a message of {len(long)} characters"
    if case.python is None and not HELP & {*case.arguments}:
        yield from _printed(case, status, out, err)
    yield from _left(case, folder, status)


def pieces_in(secret: str, text: str) -> list[str]:
    """Pieces of a secret that a text has."""
    return [secret[i : i + 6] for i in range(len(secret) - 5) if secret[i : i + 6] in text]


def _printed(case: Case, status: int | None, out: str, err: str) -> Iterator[str]:
    lines = err.splitlines()
    if case.as_json:
        try:
            document = json.loads(out, parse_constant=_refused, object_pairs_hook=_once)
        except ValueError as error:
            yield f"no JSON on standard output: {error}"
        else:
            if not isinstance(document, dict):
                yield "JSON on standard output that is no object"
            elif ("error" in document) != (status == 2):
                yield f"exit status {status}, and error in JSON: {'error' in document}"
    elif status == 2 and out and not {"sweep", "--json"} & {*case.arguments}:  # which shows the points that it refuses
        yield "a refusal, and something on standard output"
    if status == 2 and "does not fit into memory" in err:
        yield "small files that do not fit into memory"
    if status == 2 and not any(SAID.fullmatch(line) for line in lines):
        yield "a refusal that does not say what was expected and found"
    other = [line for line in lines if not any(style.fullmatch(line) for style in (SAID, PLAIN, USAGE))]
    if status == 2 and other:
        yield f"a message in another style: {other[0]}"
    if status == 1 and not lines and "sweep" not in case.arguments:
        yield "a result that is not to be relied on, and no word why"


def _refused(text: str) -> None:
    raise ValueError(f"{text} is no JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def _left(case: Case, folder: Path, status: int | None) -> Iterator[str]:
    """Faults of the files that are there now."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir():
            continue
        if ".tmp" in path.suffixes or path.name.startswith(".maxent-"):
            yield f"{name!r} was left behind"
        content = path.read_bytes()
        if content == case.files.get(name):
            continue
        if name in case.files and not _is_output(name, case.arguments):
            yield f"{name!r}, an input, was changed"
        if status == 2:
            yield f"a refusal, and {name!r} was written"
        try:
            check_whole(path, content)
        except Exception as error:
            yield f"{name!r} is not whole: {error}"
    if missing := [name for name in case.files if not (folder / name).is_file()]:
        yield f"{missing[0]!r} is gone"


def _is_output(name: str, arguments: tuple[str, ...]) -> bool:
    """Whether a call names a file, and only as one to write."""
    named = [i for i, argument in enumerate(arguments) if name in argument]
    told = [
        arguments[i - 1] in OUTPUTS or arguments[i].startswith(tuple(f"{each}=" for each in OUTPUTS)) for i in named
    ]
    return bool(told) and all(told)


def check_whole(path: Path, content: bytes) -> None:
    """Raise an error when a file that was written is not as its suffix says."""
    suffix = path.suffix.lower()
    if suffix == ".json":
        json.loads(content, parse_constant=_refused, object_pairs_hook=_once)
    elif suffix == ".csv":
        text = content.decode()
        widths = {len(row) for row in csv.reader(io.StringIO(text, newline=""))}
        assert text.endswith("\n"), "no end of the last line"
        assert len(widths) == 1, f"rows of {widths} cells"
    elif suffix in (".parquet", ".pq"):
        from pyarrow import parquet

        parquet.read_table(path)
    elif suffix in (".html", ".svg"):
        assert content.decode().rstrip().endswith(f"</{suffix[1:]}>"), "no end"
    elif suffix in (".png", ".pdf"):
        assert content[1:4] in (b"PNG", b"PDF"), "another start"
