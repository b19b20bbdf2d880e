"""Reviews of a page: their private folders, the files that are streamed there, and the processes that work in them.

A review is a folder in one temporary folder, which is gone at the end. Where reviews are kept, that one is in the
folder for them, and a review moves out of it, under a name that we choose, as soon as it is judged. What a process that
was killed left is removed by the next one (`maxent.models.files.output.scratch`).
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from maxent.disclosure.limits import NAMES, SHARES, WITH
from maxent.models.errors import InvalidInput, invalid
from maxent.serve.work import ADVISED, ANSWER, BESIDE, PROGRESS, RECORD, SEARCHED, cut, disk, in_words, write

FORMAT = "maxent-desk/1"
STATE = "review.json"
# Bytes of a file that is dropped, and seconds that looking, and judging beyond its time limit, may take.
MOST_BYTES = 2 * 2**30
LOOKING, BEYOND = 300.0, 900.0
# Processes that work at a time; others wait.
AT_ONCE = 2
# Roles of files, and suffixes that we keep of the names of others, as readers look at them.
ROLES = ("model", "table")
SUFFIXES = (
    *(".csv.gz", ".csv", ".parquet", ".pq", ".xlsx", ".xlsm", ".json", ".txt", ".skops", ".pmml", ".xml", ".cbm"),
    *(
        ".ubj",
        ".bst",
        ".onnx",
        ".pkl",
        ".pickle",
        ".joblib",
        ".rds",
        ".rda",
        ".rdata",
        ".model",
        ".dot",
        ".zip",
        ".tsv",
    ),
    *(".toml", ".py", ".html", ".ser", ".out", ".tree", ".rules", ".yaml", ".bin", ".gz"),
)
# Members of a model that is a folder: tables that R writes (examples/r/maxent.R).
PARTS = re.compile(r"(frame|splits|csplit|levels|inbag|tree[0-9]{1,5}|tree)\.(csv|txt)")
KEPT = re.compile(r"review-[0-9]{8}-[0-9]{6}-[0-9a-f]{8}")
# A name of a review on the page.
NUMBER = re.compile(r"[0-9a-f]{8}")


class Refused(Exception):
    """A sentence for the page, in place of what was asked for, with the status of the answer."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.sentence, self.status = sentence, status


@dataclass(slots=True)
class Job:
    """Work that a process does, or waits to do."""

    kind: str
    started: float = field(default_factory=time.monotonic)
    process: subprocess.Popen[bytes] | None = None
    cancelled: bool = False
    waiting: bool = False
    limit: float = LOOKING
    first: tuple[float, int] | None = None


@dataclass(slots=True)
class Sitting:
    """A review: ``state`` is new, looked, or judged; meanwhile a `Job` runs.

    ``names`` are what others call the files, for people to read; ``files`` what we call them. ``looked``, ``choices``,
    ``judged``, ``advised`` and ``decision`` are what was found, asked, found, found and decided.
    """

    number: str
    folder: Path
    state: str = "new"
    created: str = ""
    names: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    looked: dict[str, Any] = field(default_factory=dict)
    choices: dict[str, Any] = field(default_factory=dict)
    judged: dict[str, Any] = field(default_factory=dict)
    advised: dict[str, Any] = field(default_factory=dict)
    decision: dict[str, str] = field(default_factory=dict)
    trouble: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    job: Job | None = None

    @property
    def downloads(self) -> dict[str, str]:
        """Files that may be read from the page, with what they are."""
        found = dict(self.judged.get("files", {})) | dict(self.advised.get("files", {}))
        if self.state == "judged" and (self.folder / self.files.get("model", "")).is_file():
            found = {self.files["model"]: "The model's own file, which was judged", **found}
            if "statements" in self.files:
                found[self.files["statements"]] = "The statements that are published beside it"
        return found

    @property
    def unsearched(self) -> str:
        """What a judgement took, and a search for what would pass does not, in words."""
        from maxent.policy.policy import NEVER_OFF

        found = []
        if self.choices.get("sample_weight"):
            found.append(f"the weights in {self.choices['sample_weight']}")
        words = {"population": "the register", "statements": "the statements", "control": "the people outside"}
        found += [f"{said} {self.names[role]}" for role, said in words.items() if role in self.files]
        if self.choices.get("no_marginal"):
            found.append("an adversary who does not know the base rate")
        seen = {*self.choices.get("known", ()), *self.choices.get("targets", ())}
        if hidden := [name for name in self.looked.get("offered", ()) if name not in seen]:
            found.append(f"columns that an adversary does not know ({cut(', '.join(hidden), 200)})")
        for each in self.judged.get("outputs") or [self.judged]:
            for check in each.get("checks", ()):
                whom = check.get("adversary")
                if not check.get("off") and (whom or check["key"] not in SEARCHED) and check["id"] not in NEVER_OFF:
                    found.append(f"{check['id']}{f' of {WITH[whom]}' if whom else ''}")
        return ", ".join(dict.fromkeys(found))

    def path(self, role: str) -> Path:
        """The place of a file."""
        return self.folder / self.files[role]

    def save(self) -> None:
        """Leave in the folder what the page knows."""
        own = {
            name: value for name, value in _plain(self).items() if name not in ("folder", "job", "number", "trouble")
        }
        write(self.folder / STATE, {"format": FORMAT, **own})


def _plain(review: Sitting) -> dict[str, Any]:
    job, review.job = review.job, None  # a process cannot be copied
    try:
        return asdict(review)
    finally:
        review.job = job


class Desk:
    """All reviews of a page.

    ``scratch``: a private folder that is gone at the end. ``kept``: where judged reviews are kept; the file system of
    ``scratch``. ``most``: bytes of a file.
    """

    def __init__(self, scratch: Path, kept: Path | None = None, most: int = MOST_BYTES) -> None:
        self.scratch, self.kept, self.most = scratch, kept, most
        self.reviews: dict[str, Sitting] = {}
        self._lock = threading.RLock()
        self._places = threading.BoundedSemaphore(AT_ONCE)
        self.closed = False
        if kept is not None:
            for review in _reopened(kept):
                self.reviews[review.number] = review

    # Files

    def new(self) -> Sitting:
        """A review without files."""
        number = secrets.token_hex(4)
        folder = self.scratch / number
        try:
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise Refused(disk(error), 507) from None
        found = Sitting(number, folder, created=datetime.now().isoformat(" ", "minutes"))
        self.reviews[number] = found
        return found

    def find(self, number: str) -> Sitting:
        """A review by its number on the page."""
        if not NUMBER.fullmatch(number) or number not in self.reviews:
            raise Refused("There is no such review: it may have ended with an earlier start of the page.", 404)
        return self.reviews[number]

    async def receive(
        self, review: Sitting, role: str, shown: str, stated: str, chunks: AsyncIterator[bytes], part: bool = False
    ) -> None:
        """Stream the bytes of a file into the folder of a review; it ends at the limit, and nothing of it stays.

        ``shown`` is what others call it: its suffix is kept, if we know it; ``part``: whether it is one of several
        tables of a model.
        """
        self._idle(review)
        if review.state == "judged":
            raise Refused("This review is judged: begin a new one.", 409)
        if role not in (*ROLES, *BESIDE):
            raise Refused("A file is the model, the table, or one of those beside them.")
        if stated.isdecimal() and int(stated) > self.most:
            raise Refused(self._too_large(shown), 413)
        name = _own_name(role, shown)
        if part:
            if role != "model" or not PARTS.fullmatch(shown):
                known = "frame.csv, splits.csv, csplit.csv, levels.csv, inbag.csv, tree1.csv, ..."
                raise Refused(
                    f"{cut(shown, 60)}: expected one file, or the tables that R writes of one model ({known}). "
                    "Drop one file, or put the folder into that of --folder.",
                    415,
                )
            name = f"model/{shown}"
        path = review.folder / name
        whole = path.with_name(f"{path.name}.part")
        try:
            self._forget(review, role, keep="model" if part else "")
            path.parent.mkdir(mode=0o700, exist_ok=True)
            size = 0
            with open(whole, "wb", opener=_private) as file:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > self.most:
                        raise Refused(self._too_large(shown), 413)
                    file.write(chunk)
            if not size:
                raise Refused(f"{cut(shown, 60)}: expected a file, found nothing in it.", 415)
            os.replace(whole, path)
        except OSError as error:
            raise Refused(disk(error), 507) from None
        finally:
            with suppress(OSError):
                whole.unlink()
        review.files[role] = "model" if part else name
        review.names[role] = cut(shown, 100) if not part else "tables of R"
        review.looked, review.state, review.trouble = {}, "new", []

    def _too_large(self, shown: str) -> str:
        return f"{cut(shown, 60)}: expected at most {self.most / 1e6:,.0f} MB, found more."

    def _forget(self, review: Sitting, role: str, keep: str = "") -> None:
        name = review.files.get(role, "")
        if name and name != keep:
            review.files.pop(role, None)
            _remove(review.folder / name)

    def found(self) -> list[str]:
        """Files and folders that somebody put into the folder for reviews: what can be chosen without a script."""
        if self.kept is None:
            return []
        with suppress(OSError), os.scandir(self.kept) as entries:
            return sorted(
                entry.name
                for entry in entries
                if not entry.is_symlink()
                and (entry.is_file() or entry.is_dir())
                and not KEPT.fullmatch(entry.name)
                and not entry.name.startswith((".", "maxent-scratch-"))
            )
        return []

    def take(self, review: Sitting, role: str, name: str) -> None:
        """Copy a file or folder that lies in the folder for reviews; its name must be one of those that were listed."""
        if self.kept is None or name not in self.found():
            raise Refused(f"{cut(name, 60)}: expected a file that is in the folder, found none.")
        source = self.kept / name
        try:
            if source.is_dir():
                own = role
                if any(path.is_symlink() for path in source.rglob("*")):
                    raise Refused(f"{cut(name, 60)}: expected a folder of files, found a link in it.")
                shutil.copytree(source, review.folder / own)
            else:
                own = _own_name(role, name)
                if source.stat().st_size > self.most:
                    raise Refused(self._too_large(name), 413)
                shutil.copyfile(source, review.folder / own)
        except OSError as error:
            raise Refused(disk(error), 507) from None
        review.files[role], review.names[role] = own, cut(name, 100)

    # Work

    def _idle(self, review: Sitting) -> None:
        if review.job is not None:
            raise Refused("Something is being computed for this review: wait for it, or cancel it.", 409)

    def look(self, review: Sitting) -> None:
        """Begin to look at the files."""
        self._idle(review)
        lacking = [role for role in ROLES if role not in review.files]
        if lacking:
            raise Refused(f"Expected a model and a table, found no {' and no '.join(lacking)}.")
        self._begin(review, "look", self._request(review, {"names": review.names}), LOOKING)

    def judge(self, review: Sitting, choices: Mapping[str, Any]) -> None:
        """Begin to judge by some choices, which stay with the review."""
        self._idle(review)
        if review.state != "looked":
            raise Refused("These files were not looked at, or are judged already.", 409)
        review.choices = dict(choices)
        asked = {name: value for name, value in choices.items() if name not in ("limits", "preset")}
        for role, found in review.looked.get("beside", {}).items():
            if "trouble" in found:
                raise Refused(f"{review.names[role]} is not read as it is: begin again without it, or with another.")
        asked |= {"described": review.looked.get("model"), "title": review.names["model"]}
        self._begin(review, "judge", self._request(review, asked), float(choices["time_limit"]) + BEYOND)

    def again(self, review: Sitting) -> Sitting:
        """A new review of the same files, with the same choices to be changed."""
        found = self.new()
        try:
            for role in review.files:
                _copy(review.path(role), found.folder / review.files[role])
        except OSError as error:
            raise Refused(disk(error), 507) from None
        found.files, found.names = dict(review.files), dict(review.names)
        found.looked, found.choices, found.state = dict(review.looked), dict(review.choices), "looked"
        found.removed = list(review.removed)
        return found

    def strip(self, review: Sitting) -> Sitting:
        """A new review, of the model without what tells who was drawn, which is judged by the same choices."""
        self._idle(review)
        if review.state != "judged":
            raise Refused("Only what was judged is stripped.", 409)
        found = self.again(review)
        name = f"stripped-{review.files['model']}"
        self._begin(found, "strip", {"what": "strip", "model": review.files["model"], "stripped": name}, LOOKING)
        return found

    def advise(self, review: Sitting) -> None:
        """Begin to search for what would pass."""
        self._idle(review)
        if review.state != "judged":
            raise Refused("First the model is judged.", 409)
        asked: dict[str, Any] = {name: review.choices[name] for name in ("targets", "known", "time_limit")}
        asked |= {"limits": review.judged.get("limits", {}), "row": review.judged.get("row", {})}
        asked |= {"sensitive": review.choices.get("sensitive"), "unsearched": review.unsearched}
        self._begin(review, "advise", self._request(review, asked), float(asked["time_limit"]) + BEYOND)

    def best(self, review: Sitting) -> Sitting:
        """A new review, of the best release that a search found."""
        self._idle(review)
        if ADVISED not in review.advised.get("files", {}):
            raise Refused("There is no release within the limits to be judged.", 409)
        found = self.again(review)
        try:
            _remove(found.path("model"))
            _copy(review.folder / ADVISED, found.folder / "model.json")
        except OSError as error:
            raise Refused(disk(error), 507) from None
        found.files["model"], found.names["model"] = "model.json", f"instead of {review.names['model']}"
        found.removed = []
        # What was stated of the model's file is not of this one, and its trees were grown without weights.
        of_the_file = ("classes", "features", "parameters", "sample_weight", "published_as")
        found.choices |= dict.fromkeys(of_the_file)
        self.look(found)
        return found

    def _request(self, review: Sitting, more: Mapping[str, Any]) -> dict[str, Any]:
        return {**review.files, **more}

    def _begin(self, review: Sitting, kind: str, request: Mapping[str, Any], limit: float) -> None:
        for name in (ANSWER, PROGRESS):
            (review.folder / name).unlink(missing_ok=True)
        review.trouble = []
        review.job = Job(kind, limit=limit)
        threading.Thread(
            target=self._work, args=(review, review.job, {**request, "what": kind}), daemon=True, name=f"serve-{kind}"
        ).start()

    def _work(self, review: Sitting, job: Job, request: Mapping[str, Any]) -> None:
        """Run a process, wait for it, and take its answer."""
        answer: dict[str, Any] = {"trouble": ["maxent stopped without an answer"]}
        try:
            job.waiting = not self._places.acquire(blocking=False)
            if job.waiting:
                self._places.acquire()
            try:
                job.waiting, job.started = False, time.monotonic()
                if not (job.cancelled or self.closed):
                    answer = _run(review.folder, job, request)
            finally:
                self._places.release()
        except OSError as error:
            answer = {"trouble": [disk(error)]}
        with self._lock:
            review.job = None
            try:
                self._take_answer(review, job, answer)
            except OSError as error:
                review.trouble = [disk(error)]

    def _take_answer(self, review: Sitting, job: Job, answer: dict[str, Any]) -> None:
        if job.cancelled or "trouble" in answer:
            review.trouble = ["It was cancelled."] if job.cancelled else list(map(str, answer["trouble"]))
            if job.kind == "strip":
                review.removed = []
        elif job.kind == "look":
            review.looked, review.state = answer, "looked"
        elif job.kind == "judge":
            review.judged, review.state = answer, "judged"
            review.save()
            self._keep(review)
        elif job.kind == "advise":
            review.advised = answer
            review.save()
        elif job.kind == "strip" and not self.closed:
            before = review.files["model"]
            review.files["model"], review.removed = f"stripped-{before}", list(answer["removed"])
            review.names["model"] = f"{review.names['model']}, stripped"
            self.judge(review, review.choices)

    def _keep(self, review: Sitting) -> None:
        """Move a judged review to where it stays."""
        if self.kept is not None:
            name = f"review-{datetime.now():%Y%m%d-%H%M%S}-{review.number}"
            os.replace(review.folder, self.kept / name)
            review.folder = self.kept / name

    def cancel(self, review: Sitting) -> None:
        """End what is being computed."""
        with self._lock:
            job = review.job
            if job is not None:
                job.cancelled = True
                _end(job.process)

    def close(self) -> None:
        """End all that is being computed."""
        self.closed = True
        for review in [*self.reviews.values()]:
            self.cancel(review)
        for thread in threading.enumerate():
            if thread.name.startswith("serve-") and thread is not threading.current_thread():
                thread.join(5)

    def progress(self, review: Sitting) -> dict[str, Any]:
        """How far a job is, with a forecast."""
        job = review.job
        if job is None:
            return {"running": False}
        spent = time.monotonic() - job.started
        noted: dict[str, Any] = {}
        with suppress(OSError, ValueError):
            noted = json.loads((review.folder / PROGRESS).read_text(encoding="utf-8"))
        done, total = int(noted.get("done") or 0), int(noted.get("total") or 0)
        text = "Waiting: other reviews are being computed" if job.waiting else WORDS[job.kind]
        return {
            "running": True,
            "text": text,
            "at": str(noted.get("text", "")),
            "done": done,
            "total": total,
            "seconds": round(spent),
            "forecast": _forecast(review, job, done, total, spent, str(noted.get("ahead") or "")),
        }

    # Decision

    def decide(self, review: Sitting, decision: str, reason: str, by: str, role: str) -> None:
        """Write a decision into the record; it stands."""
        from maxent.policy.record import decided

        self._idle(review)
        if review.state != "judged" or review.decision:
            raise Refused("What is not judged, or is decided already, cannot be decided.", 409)
        if decision not in ("approved", "rejected"):
            raise Refused("Expected a decision: approve or reject.")
        if not reason.strip() or not by.strip():
            raise Refused("A decision has a reason and the name of who decides: fill in both.")
        try:
            for name in review.judged.get("records", [RECORD]):
                written = review.folder / name
                told = _decision_in(written) or decided(written, decision, reason.strip(), by.strip(), role.strip())
                decision, reason, by, role = (told[key] for key in ("decision", "reason", "decided_by", "role"))
            review.decision = told
            review.save()
        except OSError as error:
            review.decision = {}
            raise Refused(disk(error), 507) from None
        except InvalidInput as error:
            review.decision = {}
            raise Refused("; ".join(in_words(error))) from None


def _decision_in(record: Path) -> dict[str, str] | None:
    """The decision that a record has already: of several columns all have the same, also where a disk was full once."""
    found: dict[str, str] = json.loads(record.read_text(encoding="utf-8"))["decision"]
    return found if found["decision"] else None


WORDS: Mapping[str, str] = {
    "look": "Looking at the files",
    "judge": "Judging what the model discloses",
    "strip": "Taking seeds out of the model's file",
    "advise": "Searching for what would pass",
}


def _forecast(review: Sitting, job: Job, done: int, total: int, spent: float, ahead: str) -> str:
    """How long it may take, in words."""
    found = []
    if total and 0 < done < total:
        if job.first is None or job.first[1] > done:
            job.first = (spent, done)
        begun, at = job.first
        if done > at:
            found.append(f"about {max((spent - begun) * (total - done) / (done - at), 1):.0f} s left by what is done")
    if ahead:
        found.append(ahead)
    if job.kind in ("judge", "advise"):
        limit = float(review.choices.get("time_limit", 0))
        found.append(f"computing ends after {limit:.0f} s with the best answer by then; reading comes before that")
    return "; ".join(found)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


def _own_name(role: str, shown: str) -> str:
    """What we call a file: its role, and its suffix, if it is one that readers look at."""
    lower = shown.lower()
    return role + next((suffix for suffix in SUFFIXES if lower.endswith(suffix)), "")


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _run(folder: Path, job: Job, request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of a process to a request, or why there is none."""
    paths = os.pathsep.join(os.path.abspath(path or os.getcwd()) for path in sys.path)
    scratch = folder / "scratch"
    scratch.mkdir(mode=0o700, exist_ok=True)
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "maxent.serve.work"],
        cwd=folder,
        stdin=subprocess.PIPE,  # stays open: it closes when this process ends, and the child ends with it
        stdout=subprocess.DEVNULL,  # what libraries say may be of somebody
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": paths, "TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)},
        start_new_session=True,
    ) as process:
        job.process = process
        try:
            if job.cancelled:
                return {"trouble": ["It was cancelled."]}
            assert process.stdin is not None
            with suppress(BrokenPipeError):  # it has ended already
                process.stdin.write(json.dumps(request).encode() + b"\n")
                process.stdin.flush()
            try:
                process.wait(job.limit)
            except subprocess.TimeoutExpired:
                return {
                    "trouble": [f"it took more than {job.limit:.0f} s and was ended: fewer trees or rows take less"]
                }
        finally:
            _end(process)
            process.wait()
            shutil.rmtree(scratch, ignore_errors=True)
    try:
        found = json.loads((folder / ANSWER).read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {"trouble": ["maxent stopped without an answer"]}
    except (OSError, ValueError):
        return {"trouble": [_ended(process.returncode)]}
    finally:
        for name in (ANSWER, PROGRESS):
            (folder / name).unlink(missing_ok=True)


def _ended(status: int) -> str:
    """Why a process ended without an answer."""
    if status == -int(getattr(signal, "SIGKILL", 9)):
        return "the process was ended from outside, as systems do that are short of memory"
    return f"the process stopped without an answer (status {status}): the disk may be full, or memory short"


def _end(process: subprocess.Popen[bytes] | None) -> None:
    """End a process with all that it started."""
    if process is None:
        return
    with suppress(ProcessLookupError, PermissionError, OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _reopened(kept: Path) -> Iterator[Sitting]:
    """The judged reviews of a folder; what is none, or was changed so that it cannot be one, is left alone."""
    try:
        names = sorted(os.listdir(kept))
    except OSError as error:
        raise invalid(os.fspath(kept), "file", "folder", "a folder that can be read", disk(error)) from None
    for name in names:
        folder = kept / name
        if not KEPT.fullmatch(name) or folder.is_symlink() or not folder.is_dir():
            continue
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
            yield _reopen(folder, name.rpartition("-")[2])


def _reopen(folder: Path, number: str) -> Sitting:
    if not stat.S_ISREG(os.lstat(folder / STATE).st_mode):
        raise ValueError
    found = json.loads((folder / STATE).read_text(encoding="utf-8"))
    if found.pop("format") != FORMAT or found["state"] != "judged":
        raise ValueError
    choices = found["choices"]
    choices.setdefault("targets", [choices.get("target")])  # as these were called before
    choices.setdefault("asked", choices.pop("policy", {}))
    review = Sitting(number, folder, **found)
    for name in (*review.files.values(), *review.judged["files"], *review.advised.get("files", ())):
        if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,60}", name):
            raise ValueError
    return review


def prepared(folder: str) -> Path:
    """The folder in which reviews are kept: made for this user alone where it is not there."""
    path = Path(folder).absolute()
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(13, "you may not write there")
    except OSError as error:
        raise invalid(folder, "argument", "--folder", "a folder in which you may write", disk(error)) from None
    return path


def limits_of(fields: Mapping[str, Sequence[str]], before: str = "", among: Sequence[str] = ()) -> dict[str, float]:
    """Limits that were filled in, in fields whose names begin so."""
    found: dict[str, float] = {}
    for name in among or NAMES:
        text = (fields.get(f"{before}{name}") or [""])[0].strip().replace(",", ".")
        if text:
            share = name in SHARES
            try:
                found[name] = float(text) if share else int(text)
            except ValueError:
                found[name] = -1
            if not 0 <= found[name] <= (1 if share else 2**53):
                kind = "a share from 0 to 1" if share else "a whole number"
                raise Refused(f"{NAMES[name]}: expected {kind}, found {cut(text, 30)}.")
    return found
