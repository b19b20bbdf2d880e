"""Work of a page in a process of its own: python -m maxent.serve.work, with a request on standard input.

The process works in the private folder of a review, calls the functions that commands call, and leaves how far it is,
and its answer, in files there. It ends with the process that started it, and is the leader of a group with all that it
starts.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxent.models.errors import InvalidInput, MaxentError, printable
from maxent.models.packages import absent
from maxent.results.reliability import unwarned

if TYPE_CHECKING:
    from maxent.models.formats.release_reader import Converted
    from maxent.models.reading import Reading
    from maxent.models.tables.frame import Frame
    from maxent.policy.checked import Checked
    from maxent.results.review import Review

ANSWER, PROGRESS = "answer.json", "progress.json"
# Files that a judgement leaves, by what they are called on the page.
RELEASE, RECORD, REPORT, SUMMARY = "release.json", "record.json", "report.html", "summary.json"
DOSSIER, PUBLIC, SACRO = "dossier.html", "dossier-public.html", "sacro.zip"
ADVISED, CANDIDATES, ADVICE = "advised.json", "candidates.csv", "advice.html"
# Seconds between notes of progress.
OFTEN = 0.25
# Rows of a table that are shown, and characters of a cell and of a sentence.
ROWS, CELL, SENTENCE = 10, 60, 2000
# Columns that are described, and candidates that are shown.
COLUMNS, SHOWN = 500, 12
# A column with at most so many values may be a class; with more it is a number or a name.
CLASSES = 30

Told = Callable[[str, int, int], None]
Answer = dict[str, Any]


def main() -> None:
    """Answer one request."""
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    work: Callable[[Mapping[str, Any], Told], Answer] = WORK[request["what"]]
    try:
        with unwarned():
            answer = work(request, Noted(Path(PROGRESS)))
    except Exception as error:  # what it says is for the page alone
        answer = {"trouble": in_words(error)}
    write(Path(ANSWER), answer)


def _end_with_parent() -> None:
    """Standard input is a pipe that the parent writes no more to: it ends when the parent does, however that came."""
    while os.read(0, 1):
        pass
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file in one step, beside which nothing of it is left."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(content, default=str), encoding="utf-8")
    os.replace(part, path)


def in_words(error: BaseException) -> list[str]:
    """What went wrong, a sentence each."""
    if isinstance(error, InvalidInput):
        from maxent.command_line.messages import entries, lines

        return [cut(line, SENTENCE) for line in lines(entries(error, {}))]
    if isinstance(error, ModuleNotFoundError) and (what := absent(error)) is not None:
        return [what]
    if isinstance(error, MemoryError):
        return ["the problem does not fit into memory"]
    if isinstance(error, OSError):
        return [disk(error)]
    if isinstance(error, MaxentError):
        return [cut(str(error), SENTENCE)]
    return [f"maxent stopped with {type(error).__name__}: this is a fault of maxent, please report it"]


def disk(error: OSError) -> str:
    """Why a file cannot be written or read."""
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "the disk is full: make room for the files and what is computed of them, then try again"
    return f"a file cannot be written or read: {error.strerror or type(error).__name__}"


def cut(text: object, most: int) -> str:
    """A text for a page, of a long one its beginning."""
    found = printable(text)
    return found if len(found) <= most else f"{found[: most - 3]}..."


class Noted:
    """Progress that is left in a file."""

    def __init__(self, path: Path) -> None:
        self.path, self.last, self.ahead = path, 0.0, ""

    def __call__(self, text: str, done: int, total: int) -> None:
        if time.monotonic() - self.last >= OFTEN:
            self.last = time.monotonic()
            with suppress(OSError):
                write(self.path, {"text": cut(text, 200), "done": done, "total": total, "ahead": self.ahead})


# --- What the files are ------------------------------------------------------------------------------------------


def look(request: Mapping[str, Any], told: Told) -> Answer:
    """What a model and a table are, and what is proposed; ``trouble`` and ``lines`` to copy where one is not read."""
    told("reading the table", 0, 2)
    reading = _reading(request)
    table, table_trouble = None, []
    try:
        table = _described(request["table"], reading)
    except (InvalidInput, OSError, MemoryError) as error:
        table_trouble = in_words(error)
    told("reading the model", 1, 2)
    model, model_trouble, lines = None, [], ""
    names = [] if table is None else [column["name"] for column in table["columns"]]
    try:
        found = _as_release(request, None if table is None else request["table"], reading)
        model = _model(found)
    except (MaxentError, ModuleNotFoundError, OSError, MemoryError) as error:
        model_trouble = in_words(error)
        lines = _lines(request["model"])
    answer: Answer = {"model": model, "table": table}
    answer |= {"model_trouble": model_trouble, "table_trouble": table_trouble, "lines": lines}
    if table is not None:
        answer |= _proposed(model, table, names)
    return answer


def _reading(request: Mapping[str, Any]) -> Reading | None:
    from maxent.models.reading import reading_of

    return reading_of(request.get("reading") or {})


def _as_release(request: Mapping[str, Any], table: str | None, reading: Reading | None) -> Converted:
    """The model as a release: as its file says, with what was stated of it, and with the table."""
    from maxent.api.convert import converted, wanted_of

    said = {name: request.get(name) for name in ("target", "classes", "features", "parameters")}
    first: InvalidInput | None = None
    for train in dict.fromkeys((table, None)):
        try:
            return converted(request["model"], wanted_of(**said, train=train), reading)
        except InvalidInput as error:
            first = first or error
    assert first is not None
    raise first


def _model(found: Converted) -> Answer:
    release = found.release
    summary = found.summary
    states = [name for name, there in found.states.items() if there]
    return {
        "format": found.format,
        "tool": cut(found.tool, CELL),
        "trees": summary["trees"],
        "leaves": summary["leaves"],
        "states": states,
        "lost": [cut(sentence, SENTENCE) for sentence in found.lost],
        "exact": found.exact,
        "draws": found.tells_draws,
        "aside": found.aside,
        "attributes": [attribute.name for attribute in release.attributes],
        "private": [attribute.name for attribute in release.attributes if attribute.role == "private"],
        "target": release.target.name,
        "classes": [cut(name, CELL) for name in release.target.classes],
    }


def _described(path: str, reading: Reading | None) -> Answer:
    """The columns of a table, with what is missing, and its first rows."""
    from maxent.models.reading import reader_of
    from maxent.models.tables.table_files import read_frame

    header = read_frame(path, "table", [], reader_of(reading)).header
    frame = read_frame(path, "table", header[:COLUMNS], reader_of(reading))
    if frame.problems:
        raise InvalidInput(frame.source, list(frame.problems))
    texts = {name: column.texts() for name, column in frame.columns.items()}
    shown = range(min(ROWS, len(frame.lines)))
    rows = [[_cell(texts[name], column.codes[i]) for name, column in frame.columns.items()] for i in shown]
    columns = [_column(frame, name, texts[name]) for name in frame.columns]
    return {"rows": len(frame.lines), "columns": columns, "head": rows, "more": max(len(header) - COLUMNS, 0)}


def _cell(texts: Sequence[str], code: int) -> str:
    return "" if code < 0 else cut(texts[code], CELL)


def _column(frame: Frame, name: str, texts: Sequence[str]) -> Answer:
    import numpy as np

    column = frame.columns[name]
    used = np.unique(column.codes[column.codes >= 0])
    values = [texts[code] for code in used.tolist()]
    numeric = column.numeric if column.numeric is not None else bool(values) and all(map(_is_number, values))
    few = sorted(values)[:CLASSES] if len(values) <= CLASSES else []
    return {
        "name": name,
        "kind": "numbers" if numeric else "words",
        "distinct": len(values),
        "missing": int((column.codes < 0).sum()),
        "values": [cut(value, CELL) for value in few],
    }


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _proposed(model: Answer | None, table: Answer, names: Sequence[str]) -> Answer:
    """The column that may be the secret, and what an adversary may know: all other columns that the model uses."""
    attributes = [] if model is None else model["attributes"]
    of_model = None if model is None else model["target"]
    target = of_model if of_model in names else None
    if target is None:
        left = [column for column in table["columns"] if column["name"] not in attributes]
        few = [column for column in left if 2 <= column["distinct"] <= CLASSES]
        target = (few or left or table["columns"])[-1]["name"]
    private = set() if model is None else set(model["private"])
    used = [name for name in names if name in attributes] or [
        column["name"] for column in table["columns"] if not _names_people(column, table["rows"])
    ]
    known = [name for name in used if name != target and name not in private]
    return {"target": target, "known": known, "offered": [name for name in used if name != target] or list(names)}


def _names_people(column: Answer, rows: int) -> bool:
    """Whether a column seems to number or name the rows."""
    return bool(column["kind"] == "words" and column["distinct"] == rows > 1)


def _lines(path: str) -> str:
    """What to run where the model is, to have a file that is read; empty where nobody knows."""
    from maxent.models.formats.registry import refusal_of
    from maxent.models.formats.release_reader import read_head

    with suppress(InvalidInput, OSError):
        found = refusal_of(read_head(path))
        return "" if found is None else found.lines
    return ""


# --- Judging -----------------------------------------------------------------------------------------------------


def judge(request: Mapping[str, Any], told: Told) -> Answer:
    """The verdict on a model, with its files: release, record and report."""
    from maxent.api.check import check
    from maxent.solvers.control import hearing

    told("reading the model and the table", 0, 0)
    reading = _reading(request)
    said = {name: request.get(name) for name in ("target", "classes", "features", "parameters")}
    attributes = request.get("attributes")
    if attributes is None:
        attributes = [each.name for each in _as_release(request, request["table"], reading).release.attributes]
    known = request["known"]
    private = [name for name in attributes if name not in known]
    how = {name: request[name] for name in ("time_limit", "no_marginal", "title", "purpose")}
    ahead: Callable[[str], None] = lambda text: setattr(told, "ahead", text)  # noqa: E731
    with hearing(ahead):
        found = check(
            request["model"],
            request["table"],
            request["policy"],
            truth=request["table"],
            sensitive=request.get("sensitive"),
            private=private or None,
            reading=reading,
            progress=told,
            **said,
            **how,
        )
    told("writing the files", 0, 0)
    review = found.review
    files = {SUMMARY: "The numbers, for programs"}
    review.release.save(RELEASE)
    files[RELEASE] = "The release: what would be published, as maxent reads it"
    found.record(RECORD)
    files[RECORD] = "The record, for whoever verifies it"
    title = request["title"]
    if review.solved:
        review.report(REPORT, title=title, purpose=request["purpose"])
    else:
        found.report(REPORT)
    files[REPORT] = "The report, for whoever decides"
    notes = list(review.noticed.notes)
    files |= _handed_over(found, title, request["purpose"], notes)
    summary = found.summary
    write(Path(SUMMARY), summary)
    limits = {row.check.key: row.limit for row in found.rows}
    return {
        "status": found.status,
        "reliable": found.reliable,
        "trouble_with_it": found.review.trouble,
        "policy": found.policy.name,
        "never_passes": found.policy.never_passes,
        "checks": [row.as_dict() for row in found.rows],
        "beside": list(_beside(review)),
        "unread": list(review.unread_lines),
        "draws": review.draws.told,
        "ladder": summary.get("ladder") or review.summary.get("ladder") or [],
        "limits": {key: value for key, value in limits.items() if isinstance(value, (int, float))},
        "people": review.individuals,
        "notes": notes,
        "files": files,
    }


def _handed_over(found: Checked, title: str, purpose: str, notes: list[str]) -> dict[str, str]:
    """Files for others that a verdict can be written as; one that cannot be is left out, and why is noted."""
    files = {}
    if found.review.solved:
        for name, words, public in (
            (DOSSIER, "The dossier, for the file of the decision", False),
            (PUBLIC, "The dossier for everybody: nobody is named", True),
        ):
            try:
                found.dossier(name, title=title, purpose=purpose, public=public)
                files[name] = words
            except InvalidInput as error:
                notes += in_words(error)
    try:
        found.sacro("sacro")
        shutil.make_archive("sacro", "zip", "sacro")
        files[SACRO] = "The folder for SACRO-Viewer and ACRO, as an archive"
    except InvalidInput as error:
        notes += in_words(error)
    return files


def _beside(review: Review) -> Iterator[str]:
    """What a verdict says beside its checks: what would pass."""
    for judged in review.verdict().releases:
        if judged.mend is not None:
            yield judged.mend.words


def strip(request: Mapping[str, Any], told: Told) -> Answer:
    """The model's own file without what tells who was drawn."""
    from maxent.api.strip import strip as stripped

    told("taking seeds out of the file", 0, 0)
    found = stripped(request["model"], request["stripped"])
    return {"removed": list(found.removed), "kept": list(found.kept)}


def advise(request: Mapping[str, Any], told: Told) -> Answer:
    """The most accurate release within the limits, of all defenses."""
    from maxent.advice.advise import advise as advised
    from maxent.advice.result import cells_of, header
    from maxent.advice.result import told as in_sentences
    from maxent.disclosure.limits import NAMES

    limits = {name: value for name, value in request["limits"].items() if name in NAMES}
    found = advised(
        request["table"],
        target=request["target"],
        qi=request["known"],
        reading=_reading(request),
        folds=2,
        time_limit=request["time_limit"],
        progress=told,
        **limits,
    )
    files = {}
    if found.best is not None:
        found.save(ADVISED)
        files[ADVISED] = "The best release within the limits"
    found.save_table(CANDIDATES)
    files[CANDIDATES] = "All candidates, as a table"
    found.report(ADVICE)
    files[ADVICE] = "The report on them"
    return {
        "header": header(found),
        "rows": [[*cells_of(row), cut(row["why"], 200)] for row in found.rows[:SHOWN]],
        "more": max(len(found.rows) - SHOWN, 0),
        "told": [cut(line, SENTENCE) for line in in_sentences(found)],
        "found": found.best is not None,
        "files": files,
    }


WORK: Mapping[str, Callable[[Mapping[str, Any], Told], Answer]] = {
    "look": look,
    "judge": judge,
    "strip": strip,
    "advise": advise,
}


if __name__ == "__main__":
    from maxent.solvers.control import end_process

    main()
    end_process(0)
