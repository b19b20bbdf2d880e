"""The page of ``maxent serve``: a process of it, and whoever talks to it without a browser."""

import http.client
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlencode

FORM = "application/x-www-form-urlencoded"


class Page:
    """A process, its port and address; `visit` goes there."""

    def __init__(self, process, line, folder):
        self.process, self.line, self.folder = process, line, folder
        self.port = int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=[\w-]{20,}\n", line)[1])
        self.path = line.strip().partition(str(self.port))[2]

    def ask(self, method, path, body=None, headers=None, host=None):
        """Status, headers and text of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for each in [f"127.0.0.1:{self.port}"] if host is None else [host] if isinstance(host, str) else host:
            connection.putheader("Host", each)
        for name, value in (headers or {}).items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
        found = {name.lower(): value for name, value in answer.getheaders()}
        connection.close()
        return answer.status, found, text

    def visit(self, path=None):
        """Somebody who was let in."""
        status, headers, _ = self.ask("GET", path or self.path)
        assert (status, headers["location"]) == (303, "/")
        return Visitor(self, headers["set-cookie"].partition(";")[0])

    def private(self):
        """The private folder."""
        [found] = self.folder.glob("maxent-scratch-*")
        return found


class Visitor:
    """A browser without a window."""

    def __init__(self, page, cookie):
        self.page, self.cookie = page, cookie
        _, _, text = self.get("/")
        self.token = re.search(r'data-token="([\w-]+)"', text)[1]

    def get(self, path, **headers):
        return self.page.ask("GET", path, headers={"Cookie": self.cookie, **headers})

    def post(self, path, fields=(), *, token=None, **headers):
        pairs = [*(fields.items() if isinstance(fields, dict) else fields), ("form_token", token or self.token)]
        headers = {"Cookie": self.cookie, "Content-Type": FORM, **headers}
        return self.page.ask("POST", path, urlencode(pairs).encode(), headers)

    def put(self, path, content, name, **headers):
        own = {"X-Form-Token": self.token, "X-File-Name": quote(name), "Content-Type": "application/octet-stream"}
        return self.page.ask("PUT", path, content, {"Cookie": self.cookie, **own, **headers})

    def begin(self, model, table, **beside):
        """A review of two files, and of others by their roles, which was looked at; its address."""
        _, headers, _ = self.post("/reviews")
        review = headers["location"]
        for role, path in (("model", Path(model)), ("table", Path(table)), *beside.items()):
            status, _, text = self.put(f"{review}/put/{role}", path.read_bytes(), path.name)
            assert status == 200, text
        assert self.post(f"{review}/look")[0] == 303
        self.wait(review)
        return review

    def wait(self, review, seconds=240):
        """Wait until nothing is computed."""
        end = time.monotonic() + seconds
        while '"running":true' in (text := self.get(f"{review}/state")[2]):
            assert time.monotonic() < end, text
            time.sleep(0.1)
        return text


@contextmanager
def served(folder, *arguments, limit=None):
    """The page, whose private folders are in a folder for temporary files."""
    environment = {**os.environ, "TMPDIR": str(folder)}
    call = [sys.executable, "-m", "maxent", "serve", "--no-browser", *arguments]
    with subprocess.Popen(
        call,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=limit,
    ) as process:
        try:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            yield Page(process, line, Path(folder))
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
