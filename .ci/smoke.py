"""Try an installed maxent where no checkout hides it: `smoke.py PYTHON`, the interpreter of its environment.

The environment has the extra `serve`.
"""

import json
import math
import os
import re
import subprocess
import sys
import tempfile
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, ProxyHandler, build_opener

D1 = Path(__file__).resolve().parents[1] / "examples" / "d1"


def main(python: Path) -> None:
    """Estimate an example by the command, and hold the answer against what was worked out by hand."""
    command = python.with_name("maxent")
    tables = [D1 / "tree.json", D1 / "qi.csv", "--truth", D1 / "truth.csv"]
    with tempfile.TemporaryDirectory() as folder:

        def run(*words: str | Path) -> str:
            done = subprocess.run([command, *words], cwd=folder, check=True, stdout=subprocess.PIPE, encoding="utf-8")
            return done.stdout

        run("--help")
        run("estimate", *tables, "--report", "d1.html")
        if "Content-Security-Policy" not in (Path(folder) / "d1.html").read_text(encoding="utf-8"):
            sys.exit("the report has no Content-Security-Policy")
        summary = json.loads(run("estimate", *tables, "--knowledge", "label,rate", "--json"))
        visit(command, Path(folder) / "private")
    found, expected = summary["divergence"]["overall"], 2 / 11 * math.log(2)  # Zhu and Du's first example, by hand
    if summary["status"] != "optimal" or abs(found - expected) > 1e-6:
        sys.exit(f"maxent says {summary['status']}, divergence {found}; expected optimal, {expected}")


def visit(command: Path, private: Path) -> None:
    """Start the page, fetch it with the address that is printed, with all that it loads, and stop it by its button."""
    private.mkdir()
    environment = {**os.environ, "TMPDIR": str(private)}
    call = [command, "serve", "--no-browser"]
    with subprocess.Popen(call, cwd=private.parent, stdout=subprocess.PIPE, encoding="utf-8", env=environment) as page:
        try:
            assert page.stdout is not None
            line = page.stdout.readline().strip()
            if not re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{20,}", line):
                sys.exit(f"maxent serve printed {line!r}; expected its address with a token")
            browser = build_opener(ProxyHandler({}), HTTPCookieProcessor(CookieJar()))

            def fetched(address: str, form: dict[str, str] | None = None) -> str:
                sent = None if form is None else urlencode(form).encode()
                with browser.open(f"{line.partition('/?')[0]}{address}", sent, timeout=60) as answer:
                    text: str = answer.read().decode("utf-8")
                return text

            first = fetched(line[line.index("/?") :])
            token = re.search(r'data-token="([\w-]+)"', first)
            if "Drop two files" not in first or token is None:
                sys.exit("the first page of maxent serve is another one")
            for loaded in re.findall(r'(?:src|href)="(/static/[^"]+)"', first):
                fetched(loaded)
            fetched("/stop", {"form_token": token[1]})
            if page.wait(60) or [*private.iterdir()]:
                sys.exit(f"maxent serve ended with status {page.returncode}, and left {[*private.iterdir()]}")
        finally:
            page.kill()


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
