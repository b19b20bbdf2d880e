"""Verdicts for output checkers and authorities: the folder of ACRO and SACRO-Viewer, RO-Crates, and dossiers.

Whoever approves such a folder releases it, so that it lists what is to be published and nothing else: no value, class
or quasi-identifier of a person is in it. Sources: ACRO 1.0.2 (``results.json`` and its loader), SACRO-Viewer (which
shows summaries as HTML), RO-Crate 1.2, and the Five Safes RO-Crate 0.4 (w3id.org/5s-crate/0.4).
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
import shutil
import uuid
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxent import __version__
from maxent.models.arguments import shorten
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.files.input_files import is_standard_input
from maxent.models.files.output import scratch, write_folder
from maxent.models.formats.sacro_ml import is_target, model_in

if TYPE_CHECKING:
    from maxent.results.html_report.dossier import Account

ACRO = "1.0.2"  # the version whose loader reads the folder: it reads no other
HOME = "urn:maxent:software"  # it has no page; one of a package index would be of whoever takes the name there
CHECK = "https://w3id.org/shp#DisclosureCheck"
METADATA = "ro-crate-metadata.json"
NO_LICENSE = "https://choosealicense.com/no-permission/"
PROFILE = "https://w3id.org/5s-crate/0.4"

_COMMANDS = ("maxent check", "maxent review")
_STATUS = {"pass": "pass", "fail": "fail"}  # anything else is for a person to review
_OUTCOMES = {
    "pass": ("passed", "http://schema.org/CompletedActionStatus"),
    "fail": ("failed", "http://schema.org/FailedActionStatus"),
    "review": ("cannot tell, for a person to decide", "http://schema.org/PotentialActionStatus"),
}


@dataclass(frozen=True, slots=True)
class Handover:
    """What is handed to output checkers about named files: the status (pass, fail, review) and its checks."""

    status: str
    checks: Sequence[Mapping[str, Any]]
    files: Mapping[str, str]
    method: str
    command: str
    adversary: str

    @property
    def limits(self) -> dict[str, Any]:
        """The limits that count by their keys, those on another adversary than the one with the table by its name."""
        found: dict[str, Any] = {}
        for each in self.checks:
            if each["limit"] is not None and not each.get("off"):
                of = found.setdefault(each["adversary"], {}) if "adversary" in each else found
                of[each["key"]] = each["limit"]
        return found

    @property
    def summary(self) -> str:
        """The status and each check, in one line, as ACRO has it."""
        judged = f"adversary: {self.adversary}", f"maxent {__version__}"
        return "; ".join([self.status, *map(_said, self.checks), *judged])


class Exchanged:
    """The methods of a result that can be handed to output checkers and authorities."""

    def _handover(self) -> Handover:
        """What is handed over."""
        raise NotImplementedError

    def _accounts(self) -> Sequence[Account]:
        """What dossiers give account of, one of each sensitive column."""
        raise NotImplementedError

    def dossier(
        self,
        path: str | os.PathLike[str],
        *,
        title: str = "",
        purpose: str = "",
        author: str = "",
        organisation: str = "",
        public: bool = False,
        numbers: bool = True,
    ) -> tuple[str, ...]:
        """Write the dossier, in the order in which authorities ask: one .html file for each sensitive column.

        Parameters
        ----------
        path : path
            Of several columns ``dossier.html`` becomes ``dossier-1.html``, ``dossier-2.html`` and so on.
        title, purpose, author, organisation : str
            Texts of the first page.
        public : bool
            Whether people are left out.
        numbers : bool
            Whether the record, which has its numbers, is written beside it, as .json, of a public one as
            .confidential.json; with a record of its own it need not be.

        Returns
        -------
        tuple of str
            The names of the files.
        """
        from maxent.results.html_report.dossier import Texts, save_dossier

        accounts = self._accounts()
        names = report_names(path, len(accounts)) if len(accounts) > 1 else (os.fspath(path),)
        files = f" ({', '.join(map(os.path.basename, names))})" * (len(names) > 1)
        for name, each in zip(names, accounts, strict=True):
            texts = Texts(title or each.texts[0], author, organisation, purpose or each.texts[1])
            save_dossier(replace(each, beside=each.beside + files), name, texts, public=public, numbers=numbers)
        return names

    def sacro(self, path: str | os.PathLike[str]) -> None:
        """Write the folder that ACRO loads and SACRO-Viewer opens: the model and the verdict, and nobody's data.

        Parameters
        ----------
        path : path
            A new folder, or one that was written so. CANNOT TELL is ``review`` there.
        """
        save_sacro(path, self._handover())

    def crate(
        self,
        path: str | os.PathLike[str],
        *,
        source: str | os.PathLike[str] | None = None,
        agent: str | None = None,
        provider: str | None = None,
    ) -> None:
        """Write an RO-Crate 1.2 with the check as an action, and the model unless it failed (extra ``crate``).

        Parameters
        ----------
        path : path
            A new folder, or one that was written so.
        source : path, optional
            A Five Safes RO-Crate (0.4) to copy and to add the check to; if it failed, without results.
        agent, provider : str, optional
            Who judged, and for which organisation: a name, an address, or ``NAME <https://...>``. With ``source`` one
            of them is needed.
        """
        named = party("agent", agent), party("provider", provider)
        if source is None:
            save_crate(path, self._handover(), *named)
        else:
            add_to_crate(source, path, self._handover(), *named)


def report_names(path: str | os.PathLike[str], number: int) -> tuple[str, ...]:
    """The names of the files on some columns."""
    given = Path(os.fspath(path))
    return tuple(str(given.with_name(f"{given.stem}-{i}{given.suffix}")) for i in range(1, number + 1))


def handed_over(found: Any, verdict: Mapping[str, Any], reviews: Sequence[Any], command: str) -> Handover:
    """What is handed over of a result with its verdict and the reviews that it is of."""
    published = next((name for each in (found, *reviews) if (name := _asked(each).get("published_as"))), None)
    if published:
        expected = f"the model as it is published, in the format {published}: convert it, and judge that file"
        raise invalid("options", ARGUMENT, "published_as", expected, "a model in another format")
    trees = len(reviews[0].release.published)
    status = verdict["status"] if verdict["status"] == "fail" or found.reliable else "review"
    checks = verdict["checks"]
    if len(reviews) > 1:  # of columns, which are numbered as files of their reports are: they are not named
        columns = list(dict.fromkeys(each["release"] for each in checks))
        checks = [{**each, "column": columns.index(each["release"]) + 1} for each in checks]
    return Handover(
        _STATUS.get(status, "review"),
        checks,
        _named(reviews[0].files),
        f"ensemble of {trees:,} trees" if trees > 1 else "decision tree" if trees else "statements about people",
        command,
        ", ".join(verdict["adversaries"]),
    )


def _asked(found: Any) -> Mapping[str, Any]:
    options: Mapping[str, Any] = found.asked.options if hasattr(found, "asked") else {}
    return options


def _said(check: Mapping[str, Any]) -> str:
    """A check in words without names of people, columns or classes.

    Nor with what was found: it rests on the people's classes, and whoever has the file learns more about these by it.
    """
    limit = check["limit"]
    stated = f" limit {limit:g}" if isinstance(limit, (int, float)) and not isinstance(limit, bool) else ""
    off = " (off)" if check.get("off") else ""
    whom = f" for {check['adversary']}" if "adversary" in check else ""
    whom += f" for column {check['column']}" if "column" in check else ""
    return f"{check['id']} {check['key']}{whom}{stated}: {check['status'].replace('_', ' ')}{off}"


# Names of files that are safe in HTML, and in paths of any system, and that the folder needs for itself.
_RESERVED = ("results.json", "config.json", "outputs.json", METADATA)


def _named(files: Sequence[str]) -> dict[str, str]:
    """What may be handed over, by the name that it has there."""
    expected = "a model in a file of its own"
    if not files:
        raise invalid("options", ARGUMENT, "model", expected, "none")
    found: dict[str, str] = {}
    for file in files:
        if is_standard_input(file) or not os.path.exists(file):
            raise invalid("options", ARGUMENT, "model", expected, shorten(file))
        if is_target(file):  # which has the training data beside the model
            file = model_in(file)
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", os.path.basename(os.path.normpath(file))).lstrip(".-") or "model"
        name = f"{name}.zip" if os.path.isdir(file) else name
        while name.lower() in {*_RESERVED, *map(str.lower, found)}:
            name = f"model-{name}"
        found[name] = file
    return found


def _copied(path: str, target: Path) -> None:
    """A model as it is, a folder as one archive whose bytes depend on its content alone."""
    if not os.path.isdir(path):
        shutil.copyfile(path, target)
        return
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(each for each in Path(path).rglob("*") if each.is_file()):
            entry = zipfile.ZipInfo(file.relative_to(path).as_posix(), (1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)


def _sha256(path: str | Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# The folder of ACRO.


def save_sacro(path: str | os.PathLike[str], given: Handover) -> None:
    """Write the folder that ACRO loads and SACRO-Viewer opens: the model, results.json, config.json, checksums/."""
    result = {
        "uid": "output_0",
        "status": given.status,
        "type": "custom",
        "properties": {"method": given.method},
        "files": [{"name": name, "sdc": {}} for name in given.files],
        "outcome": {},
        "command": f"maxent {given.command}",
        "summary": html.escape(given.summary),
        "timestamp": datetime.now().isoformat(),
        "comments": [],
        "exception": "",
        "fair": {},
    }

    def fill(folder: Path) -> None:
        for name, file in given.files.items():
            _copied(file, folder / name)
        _write_json(folder / "results.json", {"version": ACRO, "results": {"output_0": result}})
        _write_json(folder / "config.json", _escaped(given.limits))
        (folder / "checksums").mkdir()
        for each in (*given.files, "results.json"):
            (folder / "checksums" / f"{each}.txt").write_text(_sha256(folder / each), encoding="utf-8")

    write_folder(path, fill, refused_sacro)


def refused_sacro(folder: Path) -> str | None:
    """Why a folder of ACRO must not be replaced; None where it is as we wrote it."""
    document = _document(folder / "results.json")
    results = document.get("results")
    found = list(results.values()) if isinstance(results, dict) else []
    if not found or not all(isinstance(each, dict) and each.get("command") in _COMMANDS for each in found):
        return "which this command did not write"
    names = {str(file.get("name")) for each in found for file in each.get("files", ()) if isinstance(file, dict)}
    others = {each.name for each in folder.iterdir()} - {*names, "results.json", "config.json", "checksums"}
    try:
        told = (folder / "checksums" / "results.json.txt").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        told = ""
    changed = others or told != _sha256(folder / "results.json")
    return "which somebody changed, as with a reviewer's decision" if changed else None


def _document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _write_json(path: Path, document: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=4, ensure_ascii=False) + "\n", encoding="utf-8")


def _escaped(value: Any) -> Any:
    """Texts as HTML shows them: the viewer puts them into pages as they are."""
    if isinstance(value, str):
        return html.escape(value)
    if isinstance(value, Mapping):
        return {_escaped(key): _escaped(each) for key, each in value.items()}
    return [_escaped(each) for each in value] if isinstance(value, (list, tuple)) else value


# RO-Crates.


@dataclass(frozen=True, slots=True)
class Party:
    """Somebody who acts, by a name and an address: ``Jane Doe <https://orcid.org/0000-0002-1825-0097>``."""

    name: str
    id: str

    def entity(self, kind: str) -> dict[str, Any]:
        """The entity of a crate."""
        return {"@id": self.id, "@type": kind, "name": self.name}


def party(option: str, text: str | None) -> Party | None:
    """Somebody who is named in an option; an address alone is its own name."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*(.*?)\s*<(https?://[^\s<>]+)>\s*", text)
    if found is not None and found[1]:
        return Party(found[1], found[2])
    text = text.strip()
    if not text or "<" in text:
        raise invalid("options", ARGUMENT, option, "a name, an address, or NAME <https://...>", shorten(text))
    return Party(text, text if re.fullmatch(r"https?://\S+", text) else f"#{uuid.uuid5(uuid.NAMESPACE_OID, text)}")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _software() -> dict[str, Any]:
    about = {"name": "maxent", "version": __version__, "softwareVersion": __version__, "url": HOME}
    return {"@id": HOME, "@type": "SoftwareApplication", **about}


def _assessment(given: Handover, status: str, outcome: str) -> dict[str, Any]:
    """The action of a disclosure check, which has ended, whoever decides after it."""
    return {
        "@id": f"#disclosure-{uuid.uuid4()}",
        "@type": "AssessAction",
        "additionalType": {"@id": CHECK},
        "name": f"Disclosure check of a {given.method} (maxent {given.command}): {outcome}",
        "description": given.summary,
        "actionStatus": _OUTCOMES[status][1],
        "endTime": _now(),
    }


def save_crate(
    path: str | os.PathLike[str], given: Handover, agent: Party | None = None, provider: Party | None = None
) -> None:
    """Write an RO-Crate 1.2 with the check as an ``AssessAction``, and the model unless it failed."""
    from rocrate.model.contextentity import ContextEntity
    from rocrate.rocrate import ROCrate

    outcome, failed = _OUTCOMES[given.status][0], given.status == "fail"
    action = _assessment(given, given.status, outcome)

    def fill(folder: Path) -> None:
        crate = ROCrate(version="1.2")

        def add(entity: Mapping[str, Any]) -> Any:
            own = {key: value for key, value in entity.items() if key != "@id"}
            return crate.add(ContextEntity(crate, entity["@id"], properties=own))

        crate.name = f"Disclosure check of a {given.method}: {outcome}"
        crate.description = given.summary
        about = {"@id": NO_LICENSE, "@type": "CreativeWork", "name": "No licence is stated"}
        crate.license = add({**about, "description": "Ask whoever is responsible before anything is published."})
        objects = [crate.root_dataset]
        with scratch() as copies:
            for name, file in given.files.items():
                _copied(file, copies / name)
                own = {"name": name, "description": given.method, "sha256": _sha256(copies / name)}
                if failed:  # it must not be released
                    objects.append(add({"@id": f"#{name}", "@type": "CreativeWork", **own}))
                    continue
                own["contentSize"] = str(os.path.getsize(copies / name))
                own["encodingFormat"] = guess_type(name)[0] or "application/octet-stream"
                objects.append(crate.add_file(str(copies / name), name, properties=own))
            software, done = add(_software()), add(action)
            done["object"] = objects
            done["agent"] = software if agent is None else add(agent.entity("Person"))
            if agent is not None:
                done["instrument"] = software
            if provider is not None:
                responsible = add(provider.entity("Organization"))
                software["provider"], crate.root_dataset["publisher"] = responsible, responsible
            crate.root_dataset["mentions"] = done
            crate.write(folder)

    write_folder(path, fill, refused_crate)


def refused_crate(folder: Path) -> str | None:
    """Why a crate must not be replaced; None where it is ours."""
    for place in (folder, folder / "data"):
        graph = _document(place / METADATA).get("@graph")
        if isinstance(graph, list) and any(isinstance(each, dict) and each.get("@id") == HOME for each in graph):
            return None
    return "which this command did not write"


# Five Safes crates: a bag, whose payload is the crate, gets the check, and loses its results where it failed.

_ALGORITHMS = ("md5", "sha1", "sha256", "sha512")


def check_copied(source: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Refuse to copy a crate into itself, or over a folder that it lies in."""
    inner, outer = (os.path.join(os.path.realpath(each), "") for each in (path, source))
    if inner.startswith(outer) or outer.startswith(inner):
        expected = f"a folder apart from the crate that is copied, {shorten(os.fspath(source))}"
        raise invalid("options", ARGUMENT, "crate", expected, shorten(os.fspath(path)))


def add_to_crate(
    source: str | os.PathLike[str],
    path: str | os.PathLike[str],
    given: Handover,
    agent: Party | None = None,
    provider: Party | None = None,
) -> None:
    """Copy a Five Safes RO-Crate (0.4) or its bag to a bag, and add the check to it.

    A crate that fails holds no results; one with other results than the model is not passed.
    """
    if agent is None and provider is None:
        expected = "agent= or provider=: who judged, or for which organisation the program did"
        raise invalid("options", ARGUMENT, "crate_in", expected, "neither")
    check_copied(source, path)
    bag = Path(source)
    root = bag / "data" if (bag / "bagit.txt").exists() else bag
    crate = FiveSafes(root, str(source))
    alike = {name: crate.same_as(file) for name, file in given.files.items()}
    if lacking := [name for name, found in alike.items() if not found]:
        expected = "a crate that holds the model that is judged"
        raise invalid(str(source), "crate", "files", expected, f"no file like {lacking[0]}")
    models = [id for found in alike.values() for id in found]
    others = crate.made - set(models)
    status, outcome = given.status, _OUTCOMES[given.status][0]
    if status == "pass" and others:
        status, outcome = "review", f"the model passed, {len(others)} other results are not judged"
    dropped = crate.dropped(models) if status == "fail" else set()
    graph = crate.without(dropped) if status == "fail" else list(crate.graph)
    objects = ["./", *(models if status != "fail" else [])]
    action = _assessment(given, status, outcome) | {"object": [{"@id": each} for each in objects]}
    if status == "review":  # for which the profile takes a disclosure phase that has not ended
        del action["endTime"]
    software = _software()
    added: list[dict[str, Any]] = [action, software]
    action["agent"] = {"@id": software["@id"]}
    if agent is not None:
        action |= {"agent": {"@id": agent.id}, "instrument": {"@id": software["@id"]}}
        added.append(agent.entity("Person"))
    if provider is not None:
        software["provider"] = {"@id": provider.id}
        added.append(provider.entity("Organization"))
    known = {each.get("@id") for each in graph}
    if software["@id"] in known:  # of an earlier check
        graph = [each for each in graph if each.get("@id") != software["@id"]]
        known.discard(software["@id"])
    graph += [each for each in added if each["@id"] not in known]
    graph = [_mentioning(each, action["@id"]) if each.get("@id") == "./" else each for each in graph]

    def fill(folder: Path) -> None:
        data = folder / "data"
        data.mkdir()
        for name in crate.files - dropped:
            (data / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, data / name)
        _write_json(data / METADATA, {**crate.document, "@graph": graph})
        _write_bag(folder, bag if root != bag else None)

    write_folder(path, fill, refused_crate)


def _mentioning(root: Mapping[str, Any], id: str) -> dict[str, Any]:
    return {**root, "mentions": [*_listed(root.get("mentions")), {"@id": id}], "datePublished": _now()}


def _listed(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, list) else [value]


def _ids(value: Any) -> set[str]:
    return {each["@id"] for each in _listed(value) if isinstance(each, dict) and isinstance(each.get("@id"), str)}


class FiveSafes:
    """A Five Safes RO-Crate in a folder: its metadata, the files that it describes, and which of them a run made."""

    def __init__(self, root: Path, source: str) -> None:
        self.root, self.source = root, source
        if (root.parent / "fetch.txt").exists() and root.name == "data":
            raise invalid(source, "crate", "fetch.txt", "a crate whose files are all there", "files to fetch")
        links = [each for each in root.rglob("*") if each.is_symlink()] if root.is_dir() else []
        if links:
            raise invalid(source, "crate", "files", "files and folders", f"a link, {links[0].relative_to(root)}")
        self.document = _document(root / METADATA)
        graph = self.document.get("@graph")
        if not isinstance(graph, list) or not all(isinstance(each, dict) for each in graph):
            expected = f"the folder of a Five Safes RO-Crate, with {METADATA} in it or in data/"
            raise invalid(source, "crate", METADATA, expected, "none that can be read")
        self.graph: list[dict[str, Any]] = graph
        self.by_id = {each["@id"]: each for each in graph if isinstance(each.get("@id"), str)}
        problems = list(self._problems())
        if problems:
            raise InvalidInput(source, problems)
        there = {each.relative_to(root).as_posix() for each in root.rglob("*") if each.is_file()} - {METADATA}
        described = {path for id in self.described if (path := _local(id)) is not None}
        self.files = {name for name in there if _within(name, described)}

    def _problems(self) -> Iterator[Problem]:
        """What the profile says that a crate must have, and this has not."""
        root = self.by_id.get("./")
        if root is None:
            yield Problem("crate", "@graph", "the root data entity ./", "none")
            return
        profiles = _ids(root.get("conformsTo"))
        if PROFILE not in {each.replace("http://", "https://").rstrip("/") for each in profiles}:
            yield Problem("./", "conformsTo", PROFILE, ", ".join(map(shorten, sorted(profiles))) or "nothing")
        if not self.runs:
            yield Problem("./", "mentions", "a CreateAction: the run that was asked for", "none")
        for run in self.runs:
            for name in ("agent", "instrument"):
                if not _ids(run.get(name)):
                    yield Problem(str(run.get("@id")), name, "a reference, {'@id': ...}", shorten(run.get(name)))
        for name in ("mainEntity", "sourceOrganization"):
            if not _ids(root.get(name)):
                yield Problem("./", name, "a reference, {'@id': ...}", shorten(root.get(name)))
        for id, each in self.by_id.items():
            if _is_data(each) and _local(id) is None and not re.match(r"[a-z][a-z0-9+.-]*:|#", id, re.IGNORECASE):
                yield Problem(id[:100], "@id", "a path in the crate, or an address", "a path that leads out of it")

    @property
    def runs(self) -> list[dict[str, Any]]:
        """The actions that made results."""
        named = _ids(self.by_id.get("./", {}).get("mentions"))
        return [self.by_id[id] for id in sorted(named) if id in self.by_id and _is_a(self.by_id[id], "CreateAction")]

    @property
    def results(self) -> set[str]:
        """The ids of what runs made, and of what is in folders among these."""
        found: set[str] = set()
        new = {id for run in self.runs for id in _ids(run.get("result"))} - {"./"}
        while new:
            found |= new
            inside = {id for each in new for id in _ids(self.by_id.get(each, {}).get("hasPart"))}
            inside |= {id for id in self.by_id for each in new if each.endswith("/") and id.startswith(each)}
            new = inside - found
        return found

    @property
    def made(self) -> set[str]:
        """The files that runs made, and the addresses of what they made elsewhere."""
        places = {id: _local(id) for id in self.results}
        inside = {name for name in self.files if _within(name, filter(None, places.values()))}
        return inside | {id for id, place in places.items() if place is None}

    @property
    def described(self) -> list[str]:
        """The ids of its data, without its root."""
        return [id for id, each in self.by_id.items() if id != "./" and _is_data(each)]

    def dropped(self, models: Iterable[str]) -> set[str]:
        """The files that a crate that failed does not hold: the model, results, and any of a folder of these."""
        results = {path for id in [*self.results, *models] if (path := _local(id)) is not None}
        kept = {path for id in self.described if id not in self.results and (path := _local(id)) is not None}
        return {name for name in self.files if _within(name, results) or not _within(name, kept)}

    def same_as(self, file: str) -> list[str]:
        """The ids of the files that are the model that was judged."""
        if os.path.isdir(file):
            inside = os.path.relpath(os.path.realpath(file), os.path.realpath(self.root)).replace(os.sep, "/")
            return [] if inside.startswith("..") else [id for id in (f"{inside}/", inside) if id in self.by_id]
        size, digest = os.path.getsize(file), _sha256(file)
        alike = [name for name in self.files if (self.root / name).stat().st_size == size]
        return sorted(name for name in alike if _sha256(self.root / name) == digest)

    def without(self, dropped: set[str]) -> list[dict[str, Any]]:
        """The graph without files that were dropped and what else runs made, and without references to these."""
        gone = self.results | {id for id in self.by_id if _local(id) in dropped}
        return [_unreferred(each, gone) for each in self.graph if each.get("@id") not in gone]


def _is_a(entity: Mapping[str, Any], kind: str) -> bool:
    return kind in _listed(entity.get("@type", entity.get("type")))


def _is_data(entity: Mapping[str, Any]) -> bool:
    return _is_a(entity, "File") or _is_a(entity, "Dataset")


def _local(id: str) -> str | None:
    """The path of a data entity in its crate; None for an address, and for what leads out of it."""
    from urllib.parse import unquote

    if re.match(r"[a-z][a-z0-9+.-]*:|#|/|\\", id, re.IGNORECASE):
        return None
    path = os.path.normpath(unquote(id)).replace(os.sep, "/")
    return None if path == ".." or path.startswith("../") or os.path.isabs(path) else path


def _within(name: str, places: Iterable[str]) -> bool:
    return any(name == place or name.startswith(f"{place}/") for place in places)


def _unreferred(entity: Mapping[str, Any], gone: set[str]) -> dict[str, Any]:
    """An entity without references to others that are gone."""
    found: dict[str, Any] = {}
    for key, value in entity.items():
        if not _ids(value) & gone:
            found[key] = value
        elif left := [each for each in _listed(value) if not _ids(each) & gone]:
            found[key] = left
    return found


def _write_bag(folder: Path, before: Path | None) -> None:
    """The files of a bag (BagIt 1.0, RFC 8493) around its payload, after those of the bag that was copied."""
    info = (before / "bag-info.txt") if before is not None else None
    lines = info.read_text(encoding="utf-8").splitlines() if info is not None and info.exists() else []
    payload = sorted(each for each in (folder / "data").rglob("*") if each.is_file())
    size = sum(each.stat().st_size for each in payload)
    lines = [line for line in lines if not line.lower().startswith(("payload-oxum:", "bag-size:"))]
    if not any(line.lower().startswith("external-identifier:") for line in lines):
        lines.append(f"External-Identifier: urn:uuid:{uuid.uuid4()}")
    lines.append(f"Payload-Oxum: {size}.{len(payload)}")
    (folder / "bag-info.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "bagit.txt").write_text("BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n", encoding="utf-8")
    used = [name for name in _ALGORITHMS if before is not None and (before / f"manifest-{name}.txt").exists()]
    algorithms = dict.fromkeys(["sha512", *used])
    for algorithm in algorithms:
        _write_manifest(folder, f"manifest-{algorithm}.txt", payload, algorithm)
    tags = sorted(each for each in folder.iterdir() if each.is_file())
    for algorithm in algorithms:
        _write_manifest(folder, f"tagmanifest-{algorithm}.txt", tags, algorithm)


def _write_manifest(folder: Path, name: str, files: Iterable[Path], algorithm: str) -> None:
    def line(path: Path) -> str:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, algorithm).hexdigest()
        place = path.relative_to(folder).as_posix().replace("%", "%25").replace("\n", "%0A").replace("\r", "%0D")
        return f"{digest}  {place}\n"

    (folder / name).write_text("".join(map(line, files)), encoding="utf-8")
