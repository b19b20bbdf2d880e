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
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxent.disclosure.limits import ADVERSARY, worst
from maxent.models.errors import InvalidInput, MaxentError, invalid, printable
from maxent.models.files.input_files import read_input
from maxent.models.packages import absent
from maxent.models.reading import Reading, reader_of, reading_of
from maxent.models.tables.frame import Frame
from maxent.results.reliability import unwarned
from maxent.solvers.control import hearing

if TYPE_CHECKING:
    from maxent.models.formats.release_reader import Converted
    from maxent.policy.checked import Checked
    from maxent.results.review import Review

ANSWER, PROGRESS = "answer.json", "progress.json"
# Files that a judgement leaves, by what they are called on the page.
RELEASE, RECORD, REPORT, SUMMARY = "release.json", "record.json", "report.html", "summary.json"
DOSSIER, PUBLIC, SACRO = "dossier.html", "dossier-public.html", "sacro.zip"
# The policy of a page, where it is not one that is shipped, or that was dropped, as it stands.
POLICY = "limits.toml"
ADVISED, CANDIDATES, ADVICE = "advised.json", "candidates.csv", "advice.html"
# Seconds between notes of progress.
OFTEN = 0.25
# Rows of a table that are shown, and characters of a cell and of a sentence.
ROWS, CELL, SENTENCE = 10, 60, 2000
# Columns that are described, and candidates that are shown.
COLUMNS, SHOWN = 500, 12
# A column with at most so many values may be a class; with more it is a number or a name.
CLASSES = 30
# Limits that a search for what would pass compares by.
SEARCHED = ("min_k", "max_posterior", "max_certain", "max_right_guesses", "max_lift")
# Files that may lie beside model and table.
BESIDE = ("policy", "population", "control", "statements")

# A format whose files name their secret, and what is found where a table is dropped as a model.
OWN_FORMAT, TABLE = "maxent/1", "a table of generalised records"
# How the refusal of a file begins that no reader knows.
UNKNOWN = "a release in one of these formats"

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
        model = _model(found, _outputs(request["model"]))
    except (MaxentError, ModuleNotFoundError, OSError, MemoryError) as error:
        model_trouble = _plainly(error, request["model"])
        if isinstance(error, InvalidInput) and TABLE in {problem.found for problem in error.problems}:
            model_trouble.append("It is a table: are the two files the other way round?")
        lines = _lines(request["model"])
    answer: Answer = {"model": model, "table": table, "beside": _beside_them(request, reading)}
    model_trouble, table_trouble = (_as_dropped(each, request) for each in (model_trouble, table_trouble))
    answer |= {"model_trouble": model_trouble, "table_trouble": table_trouble, "lines": lines}
    if table is not None:
        answer |= _proposed(model, table, names)
    return answer


def _plainly(error: BaseException, path: str) -> list[str]:
    """Why a model is not read; of a file that no reader knows what it looks like comes before the list of formats."""
    from maxent.models.formats.release_reader import read_head

    found = in_words(error)
    if isinstance(error, InvalidInput) and any(each.expected.startswith(UNKNOWN) for each in error.problems):
        looks = f"It looks like {read_head(path).looks}, and no model that is read"
        found.insert(0, f"{looks}: ask whoever trained it for a file in one of the formats below.")
    return found


def _as_dropped(sentences: Sequence[str], request: Mapping[str, Any]) -> list[str]:
    """Sentences that begin with the names that others gave their files, in place of ours."""
    ours = {f"{request[role]}: ": f"{shown}: " for role, shown in request.get("names", {}).items() if role in request}
    found = []
    for sentence in sentences:
        own = next((own for own in ours if sentence.startswith(own)), "")
        found.append(ours.get(own, "") + sentence.removeprefix(own))
    return found


def _beside_them(request: Mapping[str, Any], reading: Reading | None) -> dict[str, Answer]:
    """What the files beside model and table are: ``said``, or ``trouble``, why one is not read."""
    from maxent.models.formats.registry import open_published
    from maxent.policy.policy import read_policy

    found: dict[str, Answer] = {}
    for role in BESIDE:
        path = request.get(role)
        if path is None:
            continue
        try:
            if role == "policy":
                confine(path)
                policy = read_policy(path)
                found[role] = {"said": f"{policy.name or 'a policy'}, {len(policy.content.get('limits', {}))} limits"}
            elif role == "statements":
                open_published(path, reader_of(reading))
                found[role] = {"said": "statements, which are judged together with the model"}
            else:
                table = _described(path, reading)
                found[role] = {"said": f"{table['rows']:,} rows, {len(table['columns'])} columns"}
        except (MaxentError, ModuleNotFoundError, OSError, MemoryError) as error:
            found[role] = {"trouble": _as_dropped(in_words(error), request)}
    return found


def confine(path: str) -> None:
    """Refuse a policy that names files: what somebody else wrote opens none on this machine."""
    from maxent.models.files.toml import toml_document
    from maxent.policy.policy import MOST_BYTES, SUFFIXES, presets

    if path.lower().endswith(SUFFIXES):  # flat lines without names of files
        return
    content = read_input(path, MOST_BYTES) or b""
    document = toml_document(content.decode("utf-8-sig", "replace"), path)
    below, adversary = document.get("extends"), document.get("adversary")
    if below is not None and below not in presets():
        raise invalid(path, "file", "extends", f"a policy that is shipped ({', '.join(presets())})", "another file")
    for key in ("facts", "marginal"):
        if isinstance(adversary, dict) and isinstance(adversary.get(key), str):
            raise invalid(path, "[adversary]", key, "no file: a page opens what is dropped, and nothing else", "one")


def _reading(request: Mapping[str, Any]) -> Reading | None:
    return reading_of(request.get("reading") or {})


def _as_release(request: Mapping[str, Any], table: str | None, reading: Reading | None) -> Converted:
    """The model as a release: as its file says, with what was stated of it, and with the table."""
    from maxent.api.convert import converted, wanted_of

    said = {name: request.get(name) for name in ("target", "classes", "features", "parameters")}
    if (many := _outputs(request["model"])) > 1:
        said["parameters"] = {"output": f"0/{many}", **(said["parameters"] or {})}
    first: InvalidInput | None = None
    for train in dict.fromkeys((table, None)):
        try:
            return converted(request["model"], wanted_of(**said, train=train), reading)
        except InvalidInput as error:
            first = first or error
    assert first is not None
    raise first


def _outputs(path: str) -> int:
    """How many columns a model states each by itself."""
    from maxent.models.formats.registry import reader_for
    from maxent.models.formats.skops import outputs_in

    with suppress(MaxentError, OSError, ModuleNotFoundError):
        return outputs_in(path) if reader_for(path).name == "skops" else 1
    return 1


def _model(found: Converted, outputs: int) -> Answer:
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
        "columns": list(release.target.columns),
        "outputs": outputs,
        "classes": [cut(name, CELL) for name in release.target.classes],
    }


def _described(path: str, reading: Reading | None) -> Answer:
    """The columns of a table, with what is missing, and its first rows."""
    from maxent.models.tables.table_files import read_frame

    header = read_frame(path, "table", [], reader_of(reading)).header
    frame = read_frame(path, "table", header[:COLUMNS], reader_of(reading))
    if frame.problems:
        raise InvalidInput(frame.source, list(frame.problems))
    if not len(frame.lines):
        raise invalid(frame.source, "file", "rows", "a row for each person", "none")
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
    columns = [] if model is None else model["columns"]
    targets = [name for name in columns if name in names]
    left = [column for column in table["columns"] if column["name"] not in attributes]
    few = [column for column in left if 2 <= column["distinct"] <= CLASSES]
    if not targets or len(targets) < len(columns):
        many = 1 if model is None else model["outputs"]
        words = [column for column in few if column["kind"] == "words"]  # numbers may be weights
        few = words if 1 < many <= len(words) else few
        found = [column["name"] for column in few or left or table["columns"]]
        targets = [*[found[0]] * max(many - len(found), 0), *found][-many:]
    private = set() if model is None else set(model["private"])
    used = [name for name in names if name in attributes] or [
        column["name"] for column in table["columns"] if not _names_people(column, table["rows"])
    ]
    known = [name for name in used if name not in targets and name not in private]
    offered = [name for name in used if name not in targets] or list(names)
    named = columns if model is not None and model["format"] == OWN_FORMAT else []
    absent = [name for name in (*attributes, *named) if name not in names]
    return {"targets": targets, "known": known, "offered": offered, "absent": absent}


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
    """The verdict on a model, with its files: of several columns one of each, and the worst of them."""
    told("reading the model and the table", 0, 0)
    model, targets = request["described"] or {}, request["targets"]
    together = len(model.get("columns", ())) > 1
    several = len(targets) > 1 and not together
    policy = policy_of(request)
    found = []
    for i, target in enumerate(targets if several else targets[:1]):
        own: dict[str, Any] = {"target": None if together else target, "policy": policy}
        if several:
            own["parameters"] = {**(request["parameters"] or {}), "output": f"{i}/{len(targets)}"}
            own["time_limit"] = request["time_limit"] / len(targets)
        found.append(_judged({**request, **own}, told, f"-{i + 1}" if several else "", target if several else ""))
    more = {POLICY: "The limits, as a policy that maxent check takes"} if policy == POLICY else {}
    if not several:
        return {**found[0], "files": {**found[0]["files"], **more}}
    first = found[0]
    files = {name: f"{words} ({each['target']})" for each in found for name, words in each["files"].items()}
    own = {"outputs": found, "status": worst([each["status"] for each in found]), "files": {**files, **more}, "row": {}}
    own |= {"reliable": all(each["reliable"] for each in found)}
    own |= {"trouble_with_it": "; ".join(filter(None, (each["trouble_with_it"] for each in found)))}
    lists = ("unread", "notes", "records")
    own |= {name: list(dict.fromkeys(each for one in found for each in one[name])) for name in lists}
    own |= {"draws": next((each["draws"] for each in found if each["draws"]), "")}
    return {**first, **own}


def policy_of(request: Mapping[str, Any]) -> str | None:
    """The policy of a request: one by its name, the file that was dropped, or what is asked beside them, as a file."""
    from maxent.policy.checks.page import as_toml

    asked = dict(request["asked"])
    if request.get("policy") is not None:
        confine(request["policy"])
        asked["extends"] = request["policy"]
    if set(asked) == {"extends"}:
        return str(asked["extends"])
    lines = [f"{key} = {as_toml(value)}" for key, value in asked.items() if not isinstance(value, dict)]
    for table in ("limits", "adversary"):
        own = asked.get(table, {})
        lines += [f"\n[{table}]"] * bool(own)
        lines += [f"{key} = {as_toml(value)}" for key, value in own.items() if not isinstance(value, dict)]
        for name, inner in own.items():
            if isinstance(inner, dict):
                lines += [f"\n[{table}.{name}]", *(f"{key} = {as_toml(value)}" for key, value in inner.items())]
    Path(POLICY).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return POLICY


def _judged(request: Mapping[str, Any], told: Told, mark: str, about: str) -> Answer:
    """The verdict about one column, whose files have a mark in their names."""
    from maxent.api.check import check

    reading = _reading(request)
    said = {name: request.get(name) for name in ("target", "classes", "features", "parameters")}
    attributes = (request["described"] or {}).get("attributes")
    if attributes is None:
        attributes = [each.name for each in _as_release(request, request["table"], reading).release.attributes]
    known = request["known"]
    how = {name: request[name] for name in ("time_limit", "no_marginal", "title", "purpose", "sensitive")}
    how |= {name: request.get(name) for name in ("sample_weight", "published_as", "people", "population", "control")}
    ahead: Callable[[str], None] = lambda text: setattr(told, "ahead", text)  # noqa: E731
    beside = request.get("statements")
    with hearing(ahead):
        found = check(
            request["model"] if beside is None else [request["model"], beside],
            request["table"],
            request["policy"],
            truth=request["table"],
            private=[name for name in attributes if name not in known] or None,
            reading=reading,
            progress=told,
            **said,
            **how,
        )
    told("writing the files", 0, 0)
    review = found.review
    summary, release, record, report = (_marked(name, mark) for name in (SUMMARY, RELEASE, RECORD, REPORT))
    files = {summary: "The numbers, for programs"}
    stated = review.release.statements
    replace(review.release, statements=stated if beside is None else stated[:-1]).save(
        release
    )  # what is beside is last
    files[release] = "The release: what would be published, as maxent reads it"
    files[record] = "The record, for whoever verifies it"
    title = f"{request['title']}: {about}" if about else request["title"]
    if review.solved:
        review.report(report, title=title, purpose=request["purpose"])
    else:
        found.report(report)
    files[report] = "The report, for whoever decides"
    notes = list(review.noticed.notes)
    files |= _handed_over(found, title, request["purpose"], notes, mark)
    dossiers = {"dossier": _marked(DOSSIER, mark), "dossier_public": _marked(PUBLIC, mark)}
    found.record(record, written={"report": report, **dossiers})
    numbers = found.summary
    write(Path(summary), numbers)
    limits = {row.check.key: row.limit for row in found.rows if row.adversary == ADVERSARY}
    return {
        "target": about or request["targets"][0],
        "status": found.status,
        "reliable": found.reliable,
        "trouble_with_it": found.review.trouble,
        "policy": found.policy.name,
        "never_passes": found.policy.never_passes,
        "checks": [row.as_dict() for row in found.rows],
        "beside": list(_beside(review)),
        "unread": list(review.unread_lines),
        "draws": review.draws.told,
        "ladder": numbers.get("ladder") or review.summary.get("ladder") or [],
        "limits": {key: value for key, value in limits.items() if isinstance(value, (int, float))},
        "people": review.individuals,
        "row": {name: review.row.get(name) for name in ("leaves", "min_population", "max_posterior", "certain")},
        "notes": notes,
        "files": files,
        "report": report,
        "records": [record],
    }


def _marked(name: str, mark: str) -> str:
    stem, _, suffix = name.rpartition(".")
    return f"{stem}{mark}.{suffix}"


def _handed_over(found: Checked, title: str, purpose: str, notes: list[str], mark: str) -> dict[str, str]:
    """Files for others that a verdict can be written as; one that cannot be is left out, and why is noted."""
    files = {}
    if found.review.solved:
        for name, words, public in (
            (DOSSIER, "The dossier, for the file of the decision", False),
            (PUBLIC, "The dossier for everybody: nobody is named", True),
        ):
            try:
                own = _marked(name, mark)  # the record has its numbers
                found.dossier(own, title=title, purpose=purpose, public=public, numbers=False)
                files[own] = words
            except InvalidInput as error:
                notes += in_words(error)
    try:
        found.sacro(f"sacro{mark}")
        shutil.make_archive(f"sacro{mark}", "zip", f"sacro{mark}")
        files[_marked(SACRO, mark)] = "The folder for SACRO-Viewer and ACRO, as an archive"
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

    limits = {name: value for name, value in request["limits"].items() if name in SEARCHED}
    found = advised(
        request["table"],
        target=request["targets"] if len(request["targets"]) > 1 else request["targets"][0],
        qi=request["known"],
        sensitive=request["sensitive"],
        reading=_reading(request),
        folds=2,
        time_limit=request["time_limit"],
        progress=told,
        **limits,
    )
    if without := request["unsearched"]:
        found = replace(found, notes=(*found.notes, f"the search did not take into account: {without}"))
    files = {}
    if found.best is not None:
        found.save(ADVISED)
        files[ADVISED] = "The best release within the limits"
    found.save_table(CANDIDATES)
    files[CANDIDATES] = "All candidates, as a table"
    found.report(ADVICE)
    files[ADVICE] = "The report on them"
    untested = dict.fromkeys(("accuracy", "cost", "deviation", "behind", "behind_deviation"))
    judged = {**untested, **request["row"], "candidate": "this model", "outcome": ""}
    rows = [[*cells_of(judged), "judged above"]] if request["row"] else []
    return {
        "header": header(found),
        "rows": [*rows, *[[*cells_of(row), cut(row["why"], 200)] for row in found.rows[:SHOWN]]],
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
