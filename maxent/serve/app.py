"""The page: addresses, forms and templates, and the server on this machine alone."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from maxent.disclosure.ladder import ADVERSARIES, KEYS
from maxent.disclosure.limits import ADVERSARY, NAMES, STATUS_WORDS, WITH, WORDS
from maxent.models.errors import invalid
from maxent.models.files.output import scratch, write_text
from maxent.serve.desk import ROLES, Desk, Refused, Sitting, limits_of, prepared
from maxent.serve.guard import ALONE, FIELD, Guard
from maxent.serve.work import BESIDE, cut

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

TEMPLATES = "templates"
# What pages load, by name: their type, and the package that has the file.
STATIC: Mapping[str, tuple[str, str]] = {
    "serve.js": ("text/javascript; charset=utf-8", "maxent.serve"),
    "serve.css": ("text/css; charset=utf-8", "maxent.serve"),
    "report.css": ("text/css; charset=utf-8", "maxent.results.html_report"),
}
TYPES: Mapping[str, str] = {
    ".json": "application/json",
    ".csv": "text/csv; charset=utf-8",
    ".zip": "application/zip",
    ".html": "text/html; charset=utf-8",
}
# Seconds of a judgement, without a wish, and at most.
SECONDS, MOST_SECONDS = 120.0, 3600.0
# Limits that a new form has: nobody's class is certain, nobody is in a group of fewer than ten.
LIMITS: Mapping[str, float] = {"max_certain": 0, "min_k": 10}
# Adversaries that limits may name, beside the one with the table.
RUNGS = tuple(name for name in ADVERSARIES if name != ADVERSARY)
# What a file beside model and table is.
BESIDE_WORDS: Mapping[str, str] = {
    "policy": "A policy (.toml, or ACRO's .yaml)",
    "population": "A register of everybody who could be in the table",
    "control": "People who are not in the table, with their classes",
    "statements": "What is published beside the model (docs/statements.md)",
}
# Characters of a text that somebody fills in.
LONGEST = 2000


class Pages:
    """Answers of the page, by address; ``address`` makes a new one of the page itself, and ``stop`` ends it."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.address: Callable[[], str] = str
        self.stop: Callable[[], object] = bool

    def application(self) -> Starlette:
        """All addresses."""
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.routing import Route

        found = Starlette(
            routes=[
                Route("/", self.start),
                Route("/static/{name}", self.static),
                Route("/reviews", self.begin, methods=["POST"]),
                Route("/address", self.another, methods=["POST"]),
                Route("/stop", self.ended, methods=["POST"]),
                Route("/review/{number}", self.review),
                Route("/review/{number}/state", self.state),
                Route("/review/{number}/file/{name}", self.download),
                Route("/review/{number}/put/{role}", self.put, methods=["PUT"]),
                Route("/review/{number}/{deed}", self.act, methods=["POST"]),
            ],
            exception_handlers={Refused: self.refused, HTTPException: self.missing},
        )
        found.router.redirect_slashes = False
        return found

    # What is seen

    async def start(self, request: Request) -> Response:
        """Where files are dropped, and the list of reviews."""
        reviews = sorted(self.desk.reviews.values(), key=lambda each: each.created, reverse=True)
        return self._page(
            request, "start", reviews=reviews, found=self.desk.found(), most=self.desk.most, kept=self.desk.kept
        )

    async def static(self, request: Request) -> Response:
        """A style sheet or the script."""
        from starlette.responses import Response

        name = request.path_params["name"]
        if name not in STATIC:
            raise Refused("There is no such page.", 404)
        return Response(_asset(name), media_type=STATIC[name][0])

    async def review(self, request: Request) -> Response:
        """The page of a review: progress, choices, or the verdict."""
        review = self._found(request)
        progress = self.desk.progress(review)
        if progress["running"] and review.state != "judged":
            return self._page(request, "progress", review=review, progress=progress)
        if review.state == "judged":
            return self._page(request, "verdict", review=review, progress=progress)
        from maxent.policy.policy import presets

        chosen = _proposal(review)
        from maxent.models.formats.registry import reader_names

        shown: dict[str, Any] = {"presets": presets(), "formats": reader_names(), "rungs": RUNGS}
        return self._page(request, "choose", review=review, chosen=chosen, **shown)

    async def state(self, request: Request) -> Response:
        """How far a review is, for the script."""
        from starlette.responses import JSONResponse

        review = self._found(request)
        return JSONResponse({"state": review.state, **self.desk.progress(review)})

    async def download(self, request: Request) -> Response:
        """A file of a judged review; reports are shown, by themselves."""
        from starlette.responses import FileResponse

        review, name = self._found(request), request.path_params["name"]
        path = review.folder / name
        if name not in review.downloads or path.is_symlink() or not path.is_file():
            raise Refused("There is no such file.", 404)
        kind = TYPES.get(path.suffix, "application/octet-stream")
        if name in review.files.values():
            kind = "application/octet-stream"
        if kind.startswith("text/html") and "save" not in request.query_params:
            return FileResponse(path, media_type=kind, headers={"content-security-policy": ALONE})
        return FileResponse(path, media_type=kind, filename=name)

    # What is done

    async def begin(self, request: Request) -> Response:
        """A new review, with files of the folder where some are named."""
        review = self.desk.new()
        fields = _form(request)
        chosen = {role: _one(fields, role) for role in (*ROLES, *BESIDE)}
        if any(chosen.values()):
            for role, name in chosen.items():
                if name or role in ROLES:
                    self.desk.take(review, role, name)
            self.desk.look(review)
        return self._to(request, review)

    async def put(self, request: Request) -> Response:
        """The bytes of a file."""
        from starlette.responses import JSONResponse

        review, role = self._found(request), request.path_params["role"]
        part = role.endswith("-part")
        name = unquote(request.headers.get("x-file-name", ""))[:LONGEST]
        stated = request.headers.get("content-length", "")
        await self.desk.receive(review, role.removesuffix("-part"), name, stated, request.stream(), part=part)
        return JSONResponse({"bytes": "received"})

    async def act(self, request: Request) -> Response:
        """What a button asks for."""
        review, fields = self._found(request), _form(request)
        deed = request.path_params["deed"]
        if deed == "look":
            self.desk.look(review)
        elif deed == "judge":
            self.desk.judge(review, _choices(review, fields))
        elif deed == "cancel":
            self.desk.cancel(review)
        elif deed == "again":
            review = self.desk.again(review)
        elif deed == "strip":
            review = self.desk.strip(review)
        elif deed == "advise":
            self.desk.advise(review)
        elif deed == "best":
            review = self.desk.best(review)
        elif deed == "decide":
            texts = [_one(fields, name)[:LONGEST] for name in ("decision", "reason", "by", "role")]
            self.desk.decide(review, *texts)
        else:
            raise Refused("There is no such page.", 404)
        return self._to(request, review, {"advise": "#pass-title", "decide": "#decision-title"}.get(deed, ""))

    async def another(self, request: Request) -> Response:
        """A new address, for another browser."""
        return self._page(
            request,
            "message",
            heading="Another browser",
            sentence="Open this address there. It is good for one visit; both browsers then work at once.",
            address=self.address(),
        )

    async def ended(self, request: Request) -> Response:
        """Stop the program."""
        self.stop()
        kept = (
            f" Judged reviews are in {self.desk.kept}."
            if self.desk.kept
            else " Everything that was dropped here is removed."
        )
        return self._page(
            request, "message", heading="maxent has stopped", sentence=f"This window can be closed.{kept}"
        )

    # How

    async def refused(self, request: Request, error: Exception) -> Response:
        """A sentence in place of a page."""
        from starlette.responses import JSONResponse

        assert isinstance(error, Refused)
        if request.method == "PUT" or "x-form-token" in request.headers:
            return JSONResponse({"sentence": error.sentence}, error.status)
        number = request.path_params.get("number")
        back = f"/review/{number}" if number and error.status != 404 else "/"
        return self._page(
            request,
            "message",
            error.status,
            heading="That is not possible",
            sentence=error.sentence,
            back=back,
        )

    async def missing(self, request: Request, error: Exception) -> Response:
        """A page that is not there."""
        return self._page(
            request,
            "message",
            getattr(error, "status_code", 404),
            heading="Nothing is here",
            sentence="There is no such page.",
            back="/",
        )

    def _found(self, request: Request) -> Sitting:
        return self.desk.find(request.path_params["number"])

    def _to(self, request: Request, review: Sitting, where: str = "") -> Response:
        from starlette.responses import JSONResponse, RedirectResponse

        if "x-form-token" in request.headers:  # our script
            return JSONResponse({"number": review.number})
        return RedirectResponse(f"/review/{review.number}{where}", 303)

    def _page(self, request: Request, name: str, status: int = 200, **shown: Any) -> Response:
        from starlette.responses import HTMLResponse

        token = request.scope.get("state", {}).get("token", "")
        return HTMLResponse(rendered(name, token=token, **shown), status)


# --- Forms -------------------------------------------------------------------------------------------------------


def _form(request: Request) -> Mapping[str, Sequence[str]]:
    found: Mapping[str, Sequence[str]] = request.scope["state"]["form"]
    return found


def _one(fields: Mapping[str, Sequence[str]], name: str) -> str:
    return (fields.get(name) or [""])[0]


def _listed(fields: Mapping[str, Sequence[str]], name: str) -> list[str] | None:
    """Names that were filled in, a line each, or between commas."""
    text = _one(fields, name).strip()
    found = text.splitlines() if "\n" in text else text.split(",")
    return [each.strip() for each in found if each.strip()] or None


def _proposal(review: Sitting) -> dict[str, Any]:
    """What a form has at first: what was chosen before, else what is proposed."""
    found: dict[str, Any] = {
        "targets": review.looked.get("targets", []),
        "known": review.looked.get("known", []),
        "limits": {} if "policy" in review.files else dict(LIMITS),
        "rungs": {},
        "preset": "",
        "with_limits": False,
        "time_limit": SECONDS,
        "purpose": "",
        "no_marginal": False,
        "rows_reason": "",
        **dict.fromkeys(("sensitive", "classes", "features", "parameters", "sample_weight", "published_as", "people")),
    }
    return found | review.choices


def _choices(review: Sitting, fields: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What a form asks for; a field that cannot be is refused with a sentence."""
    names = [column["name"] for column in (review.looked.get("table") or {}).get("columns", [])]
    targets = list(fields.get("target", ()))
    if not targets or any(name not in names for name in targets):
        raise Refused("Expected the secret: a column of the table.")
    if len(set(targets)) < len(targets):
        raise Refused("Expected another column for each output of the model.")
    weight = _one(fields, "sample_weight") or None
    if weight is not None and weight not in names:
        raise Refused("Weights: expected a column of the table.")
    known = [name for name in fields.get("known", ()) if name in names and name not in (*targets, weight)]
    if not known:
        raise Refused("Expected at least one column that an adversary knows.")
    published, people = _one(fields, "published_as") or None, _one(fields, "people").strip() or None
    if people is not None and not (people.isdecimal() and 0 < int(people) < 2**31):
        raise Refused(f"People in the table: expected a whole number, found {cut(people, 30)}.")
    try:
        seconds = float(_one(fields, "time_limit") or SECONDS)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= MOST_SECONDS:
        raise Refused(f"Time: expected 1 to {MOST_SECONDS:.0f} seconds.")
    parameters = [line.partition("=") for line in _listed(fields, "parameters") or ()]
    if any(not equals for _, equals, _ in parameters):
        raise Refused("Parameters: expected NAME=VALUE, a line each.")
    return {
        "targets": targets,
        "known": known,
        **_policy(review, fields),
        "time_limit": seconds,
        "no_marginal": bool(_one(fields, "no_marginal")),
        "purpose": _one(fields, "purpose").strip()[:LONGEST],
        "sample_weight": weight,
        "published_as": published,
        "people": None if people is None else int(people),
        "classes": _listed(fields, "classes"),
        "features": _listed(fields, "features"),
        "sensitive": _listed(fields, "sensitive"),
        "parameters": {name.strip(): value.strip() for name, _, value in parameters} or None,
    }


def _policy(review: Sitting, fields: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What a form asks of policy and limits; ``asked`` is what `maxent.serve.work.policy_of` makes a policy of.

    Limits beside a policy count where that is ticked; without one they have to be there.
    """
    from maxent.policy.policy import presets

    preset, reason = _one(fields, "preset"), _one(fields, "rows_reason").strip()[:LONGEST]
    if preset and preset not in presets():
        raise Refused("Expected a policy of the list.")
    if preset and "policy" in review.files:
        raise Refused("Expected the policy that was dropped, or one of the list, found both.")
    limits = limits_of(fields)
    rungs = {name: own for name in RUNGS if (own := limits_of(fields, f"{name}-", KEYS))}
    stated = bool(preset or "policy" in review.files)
    counting = bool(_one(fields, "with_limits")) or not stated
    asked: dict[str, Any] = {"extends": preset} if preset else {} if stated else {"name": "limits of the page"}
    if counting and (limits or rungs):
        asked["limits"] = {**limits, **rungs}
    if not stated and "limits" not in asked:
        raise Refused("Expected a policy, or at least one limit: without them there is no verdict.")
    if reason:
        asked["adversary"] = {"rows": "unknown", "rows_reason": reason}
    chosen = {"preset": preset, "limits": limits, "rungs": rungs, "rows_reason": reason, "asked": asked}
    return {**chosen, "with_limits": bool(_one(fields, "with_limits"))}


# --- Templates ---------------------------------------------------------------------------------------------------


@cache
def _environment() -> Environment:
    """Templates of pages."""
    from maxent.results.html_report.build import templates

    found = templates("maxent.serve")
    found.globals |= {"field": FIELD, "limit_names": NAMES, "status_words": STATUS_WORDS, "verdict_words": WORDS}
    found.globals |= {"rung_words": WITH, "rung_limits": {name: NAMES[name] for name in KEYS}, "beside": BESIDE_WORDS}
    found.filters["number"] = lambda value: f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    return found


def rendered(name: str, **shown: Any) -> str:
    """A page as HTML: everything that others wrote is escaped."""
    return _environment().get_template(f"{name}.html.j2").render(**shown)


def says(status: int, heading: str, sentence: str, onwards: str = "") -> str:
    """A page of a sentence."""
    return rendered("message", token="", heading=heading, sentence=sentence, onwards=onwards)


@cache
def _asset(name: str) -> str:
    return (resources.files(STATIC[name][1]) / TEMPLATES / name).read_text(encoding="utf-8")


# --- The server --------------------------------------------------------------------------------------------------


def serve(port: int = 0, folder: str | None = None, *, browser: bool = True) -> None:
    """Serve the page until somebody ends it.

    Parameters
    ----------
    port : int
        0 for one that is free.
    folder : str, optional
        Where judged reviews are kept; by default nothing is.
    browser : bool
        Whether the standard browser is opened.
    """
    import logging

    import uvicorn

    os.umask(0o077)
    logging.getLogger("uvicorn").addHandler(logging.NullHandler())  # its words may have addresses with values
    logging.getLogger("uvicorn").propagate = False
    kept = None if folder is None else prepared(folder)
    with _listening(port) as listener, scratch(kept) as place:
        number = listener.getsockname()[1]
        desk = Desk(place, kept)
        pages = Pages(desk)
        guard = Guard(pages.application(), number, says, ("/static/",))
        pages.address = guard.address

        class Server(uvicorn.Server):
            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                if hasattr(signal, "SIGHUP"):  # a terminal that is closed; others are heard by the server
                    signal.signal(signal.SIGHUP, self.handle_exit)
                _tell(guard.address())
                if browser:
                    _open(guard.address())

        config = uvicorn.Config(
            guard,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            http="h11",
            ws="none",
            lifespan="off",
            timeout_graceful_shutdown=3,
        )
        server = Server(config)
        pages.stop = lambda: setattr(server, "should_exit", True)
        try:
            with suppress(KeyboardInterrupt):
                server.run(sockets=[listener])
        finally:
            desk.close()


def _listening(port: int) -> socket.socket:
    """A socket on this machine alone."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(("127.0.0.1", port))
        found.listen(128)
    except OSError as error:
        found.close()
        raise invalid(
            "command line", "argument", "--port", "a port that is free", f"{port}: {error.strerror}"
        ) from None
    return found


def _tell(address: str) -> None:
    print(address, flush=True)


def _open(address: str) -> None:
    """Open the standard browser, which must not write between our lines."""
    with suppress(OSError):
        subprocess.Popen(
            [sys.executable, "-P", "-m", "webbrowser", address],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


# --- A file to click on ------------------------------------------------------------------------------------------

SHORTCUTS = (".bat", ".cmd", ".command", ".desktop")


def write_shortcut(path: str, arguments: Sequence[str]) -> None:
    """Write a file that starts the page by a double click, for the system that its suffix stands for."""
    # -P: it starts in a folder of files that others may have written
    words = [sys.executable, "-P", "-m", "maxent", "serve", *arguments]
    suffix = Path(path).suffix.lower()
    if any(character in word for word in words for character in "\n\r\0"):
        raise invalid("command line", "argument", "--shortcut", "names without line breaks", "a line break")
    if suffix in (".bat", ".cmd"):
        quoted = " ".join('"' + word.replace('"', "").replace("%", "%%") + '"' for word in words)
        text = f"@echo off\r\nrem {MARK}\r\nchcp 65001 >nul\r\n{quoted}\r\npause\r\n"
    elif suffix == ".desktop":
        quoted = " ".join(_desktop(word) for word in words)
        about = "Type=Application\nName=maxent\nComment=What a model discloses\nTerminal=true"
        text = f"[Desktop Entry]\n# {MARK}\n{about}\nExec={quoted}\n"
    else:
        text = f"#!/bin/sh\n# {MARK}\nexec {shlex.join(words)}\n"
    write_text(path, text)
    if suffix not in (".bat", ".cmd"):
        os.chmod(path, 0o700)


# What tells such a file from others.
MARK = "starts maxent serve"


def _desktop(word: str) -> str:
    """A word of the key Exec, as the specification of desktop entries quotes it: once for Exec, once for a string."""
    inner = "".join(f"\\{c}" if c in '"`$\\' else c for c in word).replace("%", "%%")
    return '"' + inner.replace("\\", "\\\\") + '"'
