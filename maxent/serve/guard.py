"""Who may talk to the page: host and origin, addresses that are good for one visit, cookies, form tokens, headers.

Everything is refused that this module does not let through, so that no page has to think of it.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
# Makes a page of a sentence: status, heading, sentence, address to go on to -> HTML
Says = Callable[[int, str, str, str], str]

# Bytes of a form; files are not sent by forms.
LARGEST_FORM = 1 << 20
FORM, RAW = "application/x-www-form-urlencoded", "application/octet-stream"
# The name of the token in forms, and in the headers of our script.
FIELD, HEADER = "form_token", "x-form-token"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# Of reports, which have a policy of their own within: no cookie, no page of ours is within their reach.
ALONE = "sandbox allow-scripts allow-downloads; frame-ancestors 'none'"
HEADERS = (
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
)

USED = (
    "This address was used already: it is good for one visit. In the browser that used it choose 'Another browser', "
    "which shows a new address; or start maxent serve again."
)
STRANGER = "Open the address that maxent serve printed when it started: it lets this browser in."
ELSEWHERE = "This page answers its own address alone: the one that maxent serve printed."
STALE = "The form is not of this visit. Go back, load the page again, and send it once more."


class Guard:
    """An application that only those reach who were let in.

    ``app``: what is guarded; the form of a request is ``scope["state"]["form"]``, its token
    ``scope["state"]["token"]``. ``port``: the one it is reached by. ``says``: makes a page of a sentence.
    ``open_paths``: beginnings of paths that hold nothing of anybody, such as style sheets.
    """

    def __init__(self, app: App, port: int, says: Says, open_paths: Iterable[str] = ()) -> None:
        self.app, self.says, self.open_paths = app, says, tuple(open_paths)
        self.host = f"127.0.0.1:{port}"
        self.origin = f"http://{self.host}"
        self.cookie = f"maxent_{port}"
        self._tokens: set[str] = set()
        self._visitors: dict[str, str] = {}

    def address(self) -> str:
        """A new address, good for one visit."""
        token = secrets.token_urlsafe(32)
        self._tokens.add(token)
        return f"{self.origin}/?token={token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                own = {name for name, _ in message["headers"]}
                more = [
                    (name.encode(), value.encode()) for name, value in (("content-security-policy", POLICY), *HEADERS)
                ]
                message["headers"] = [*message["headers"], *(each for each in more if each[0] not in own)]
            await send(message)

        try:
            await self._guarded(scope, receive, sending)
        except Exception as error:
            _log(error)
            if not begun:
                await self._say(
                    scope, sending, 500, "Something went wrong", f"maxent stopped with {type(error).__name__}."
                )

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        method, path = scope["method"], scope["path"]
        if headers.get("host") != [self.host] or not self._from_here(headers, method):
            await self._say(scope, send, 403, "Not from here", ELSEWHERE)
            return
        if method not in ("GET", "HEAD", "POST", "PUT"):
            await self._say(scope, send, 405, "Not understood", "The page does not know this kind of request.")
            return
        visitor = self._visitor(headers)
        query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
        if path == "/" and "token" in query:
            await self._enter(scope, send, query["token"], visitor, headers)
            return
        if path.startswith(self.open_paths) and method in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        if visitor is None:
            if method == "GET" and _first(headers, "sec-fetch-site") == "cross-site":
                # The browser sends no strict cookie along a link from elsewhere; from a page of ours it does.
                await self._say(scope, send, 200, "One moment", "The page opens.", path)
                return
            await self._say(scope, send, 403, "Who is there?", STRANGER)
            return
        state = scope.setdefault("state", {})
        state["token"] = token = self._visitors[visitor]
        if method in ("POST", "PUT"):
            kind = _first(headers, "content-type").partition(";")[0].strip().lower()
            given = _first(headers, HEADER)
            if method == "POST":
                if kind != FORM:
                    await self._say(scope, send, 415, "Not understood", "Expected a form.")
                    return
                body = await _body(receive, LARGEST_FORM)
                if body is None:
                    await self._say(scope, send, 413, "Too long", "The form has too much text.")
                    return
                state["form"] = fields = _fields(body)
                given = given or (fields.get(FIELD) or [""])[0]
            elif kind != RAW:
                await self._say(scope, send, 415, "Not understood", "Expected the bytes of a file.")
                return
            if not _same(given, token):
                await self._say(scope, send, 403, "Not of this visit", STALE)
                return
        await self.app(scope, receive, send)

    def _from_here(self, headers: dict[str, list[str]], method: str) -> bool:
        """Whether a request comes from a page of ours, or from nowhere: an address that somebody typed or followed."""
        origin, site = headers.get("origin"), _first(headers, "sec-fetch-site")
        if origin is not None and origin != [self.origin]:
            return False
        if "sec-purpose" in headers or "purpose" in headers:  # a browser that only guesses what comes next
            return False
        if site in ("", "same-origin", "none"):
            return True
        return (
            method == "GET"
            and _first(headers, "sec-fetch-mode") == "navigate"
            and _first(headers, "sec-fetch-dest") in ("", "document")
        )

    async def _enter(
        self, scope: Scope, send: Send, token: str, visitor: str | None, headers: dict[str, list[str]]
    ) -> None:
        """Let the first visitor in who has an address, and nobody after."""
        good = scope["method"] == "GET" and next((each for each in self._tokens if _same(each, token)), None)
        if not good and visitor is None:
            await self._say(scope, send, 403, "Used already", USED)
            return
        answer: list[tuple[bytes, bytes]] = [(b"location", b"/"), (b"content-length", b"0")]
        if good:
            self._tokens.discard(good)
            if visitor is None:
                secret = secrets.token_urlsafe(32)
                self._visitors[secret] = secrets.token_urlsafe(32)
                cookie = f"{self.cookie}={secret}; Path=/; HttpOnly; SameSite=Strict"
                answer.append((b"set-cookie", cookie.encode()))
        await send({"type": "http.response.start", "status": 303, "headers": answer})
        await send({"type": "http.response.body", "body": b""})

    def _visitor(self, headers: dict[str, list[str]]) -> str | None:
        """The cookie of somebody who was let in."""
        for text in headers.get("cookie", ()):
            with suppress(CookieError):
                found = SimpleCookie(text).get(self.cookie)
                if found is not None:
                    return next((each for each in self._visitors if _same(each, found.value)), None)
        return None

    async def _say(self, scope: Scope, send: Send, status: int, heading: str, sentence: str, onwards: str = "") -> None:
        body = self.says(status, heading, sentence, onwards).encode()
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", str(len(body)).encode())]
        if status >= 400:
            headers.append((b"connection", b"close"))  # what else was sent is not read
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def _headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _first(headers: dict[str, list[str]], name: str) -> str:
    return (headers.get(name) or [""])[0]


async def _body(receive: Receive, most: int) -> bytes | None:
    """The body of a request, None where it is longer, or its sender went away."""
    found = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        piece: bytes = message.get("body", b"")
        found += piece
        if len(found) > most:
            return None
        if not message.get("more_body"):
            return found


def _fields(body: bytes) -> dict[str, list[str]]:
    """The fields of a form; one that is no text has none."""
    found: dict[str, list[str]] = {}
    with suppress(ValueError):
        for name, value in parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=20_000):
            found.setdefault(name, []).append(value)
    return found


def _log(error: Exception) -> None:
    """Name an error and its place on standard error; what it says may be of somebody."""
    at, where = error.__traceback__, ""
    while at is not None:
        where = f"{at.tb_frame.f_code.co_name}, line {at.tb_lineno}"
        at = at.tb_next
    from maxent.command_line.progress import tell

    tell(f"serve: {type(error).__name__} in {where}")
