"""Attacks on the page of ``maxent serve``: who may talk to it, and what stays of files."""

import asyncio
import errno
import json
import os
import pickle
import re
import resource
import signal
import socket
import stat
import subprocess
import sys
import time
import tomllib

import pandas as pd
import pytest
import skops.io
from sklearn.tree import DecisionTreeClassifier
from support.paths import ROOT
from support.served import FORM, served

from maxent.serve.desk import KEPT, Desk, Refused, _own_name
from maxent.serve.guard import Guard
from maxent.serve.work import look

D1 = ROOT / "examples/d1"
FILES = (D1 / "tree.json", D1 / "truth.csv")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with served(tmp_path_factory.mktemp("private")) as found:
        yield found


@pytest.fixture(scope="module")
def visitor(page):
    return page.visit()


def new_address(visitor):
    text = visitor.post("/address")[2]
    return text.partition(f"127.0.0.1:{visitor.page.port}")[2].partition('"')[0]


# Who may come in


def test_only_this_machine_reaches_it(page):
    with pytest.raises(ConnectionError), socket.create_connection(("127.0.0.2", page.port), timeout=2):
        pass  # the whole of 127/8 is this machine: a socket that listened everywhere would answer


def test_an_address_is_good_for_one_visit(page, visitor):
    path = new_address(visitor)
    assert page.ask("HEAD", path)[0] == 403
    assert page.ask("GET", path, headers={"Sec-Purpose": "prefetch"})[0] == 403
    status, headers, _ = page.ask("GET", path)
    assert (status, headers["location"]) == (303, "/")
    cookie = headers["set-cookie"]
    assert cookie.startswith(f"maxent_{page.port}=")
    assert all(word in cookie for word in ("HttpOnly", "SameSite=Strict", "Path=/"))
    assert "Domain" not in cookie
    status, _, text = page.ask("GET", path)
    assert status == 403
    assert "This address was used already" in text
    assert page.ask("GET", "/?token=")[0] == page.ask("GET", "/?token=" + "x" * 43)[0] == 403


def test_who_was_let_in_may_open_a_used_address_again(page, visitor):
    assert page.ask("GET", page.path, headers={"Cookie": visitor.cookie})[0] == 303


def test_both_browsers_work_at_once(page, visitor):
    other = page.visit(new_address(visitor))
    assert other.cookie != visitor.cookie
    assert other.token != visitor.token
    for each in (visitor, other, visitor):
        assert each.get("/")[0] == 200
        assert each.post("/reviews")[0] == 303
    assert other.post("/reviews", token=visitor.token)[0] == 403


@pytest.mark.parametrize("path", ["/", "/review/00000000", "/review/00000000/file/record.json", "/nothing", "/?x=1"])
def test_a_stranger_gets_a_sentence(page, path):
    for headers in ({}, {"Cookie": f"maxent_{page.port}=guess"}, {"Cookie": "maxent_1=x"}, {"Cookie": '"=;;,\x01'}):
        status, _, text = page.ask("GET", path, headers=headers)
        assert status == 403
        assert "lets this browser in" in text


@pytest.mark.parametrize("path", ["/reviews", "/address", "/stop", "/review/00000000/judge"])
def test_a_stranger_does_nothing(page, path):
    assert page.ask("POST", path, b"form_token=x", {"Content-Type": FORM})[0] == 403


def test_no_other_host_name_is_accepted(page, visitor):
    own = f"127.0.0.1:{page.port}"
    for host in (
        f"localhost:{page.port}",
        "evil.example",
        f"evil.example:{page.port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "",
        [],
    ):
        status, _, text = page.ask("GET", "/", headers={"Cookie": visitor.cookie}, host=host)
        assert status in (400, 403)
        assert "token" not in text.replace('data-token=""', "")
    assert page.ask("GET", "/", headers={"Cookie": visitor.cookie}, host=[own, "evil.example"])[0] in (400, 403)
    assert page.ask("GET", "/", headers={"Cookie": visitor.cookie}, host=own)[0] == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1", "https://127.0.0.1:{}", "http://localhost:{}"]
)
def test_no_other_origin_is_accepted(page, visitor, origin):
    given = {"Origin": origin.format(page.port)}
    assert visitor.get("/", **given)[0] == 403
    assert visitor.post("/reviews", **given)[0] == 403
    assert visitor.put("/review/00000000/put/table", b"x", "x.csv", **given)[0] == 403
    assert visitor.post("/reviews", Origin=f"http://127.0.0.1:{page.port}")[0] == 303


def test_no_other_site_reads_or_sends(visitor):
    for site in ("cross-site", "same-site"):
        frame = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
        image = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
        assert visitor.get("/", **frame)[0] == visitor.get("/static/report.css", **image)[0] == 403
        assert visitor.post("/reviews", **{"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"})[0] == 403


def test_who_follows_a_link_from_elsewhere_gets_in(page, visitor):
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    status, headers, _ = page.ask("GET", new_address(visitor), headers=link)
    assert status == 303
    status, _, text = page.ask("GET", "/", headers=link)  # the browser sends no strict cookie yet
    assert status == 200
    assert 'content="0; url=/"' in text
    cookie = headers["set-cookie"].partition(";")[0]
    assert page.ask("GET", "/", headers={"Cookie": cookie, "Sec-Fetch-Site": "same-origin"})[0] == 200
    assert page.ask("GET", "/", headers={"Sec-Fetch-Site": "same-origin"})[0] == 403  # and does not go on for ever


def test_forms_carry_a_token(page, visitor):
    headers = {"Cookie": visitor.cookie, "Content-Type": FORM}
    assert page.ask("POST", "/reviews", b"", headers)[0] == 403
    assert page.ask("POST", "/reviews", b"form_token=guess", headers)[0] == 403
    assert visitor.put("/review/00000000/put/table", b"x", "x.csv", **{"X-Form-Token": "guess"})[0] == 403
    multipart = {
        "Cookie": visitor.cookie,
        "Content-Type": "multipart/form-data; boundary=x",
        "X-Form-Token": visitor.token,
    }
    assert page.ask("POST", "/reviews", b"--x--", multipart)[0] == 415
    assert page.ask("POST", "/reviews", b"x" * (1 << 20) + b"x", {**headers, "X-Form-Token": visitor.token})[0] == 413
    assert page.ask("DELETE", "/", headers={"Cookie": visitor.cookie})[0] == 405


def test_every_answer_has_its_headers(page, visitor):
    answers = [visitor.get("/"), visitor.get("/nothing"), visitor.get("/static/serve.js"), page.ask("GET", "/")]
    for _, headers, _ in [*answers, visitor.post("/reviews")]:
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers


def test_what_goes_wrong_is_named_without_values(capsys):
    async def app(scope, receive, send):
        raise ValueError("the secret of row 7")

    sent = []

    async def send(message):
        sent.append(message)

    guard = Guard(app, 1, lambda status, heading, sentence, onwards="": f"{heading}: {sentence}", ("/static/",))
    scope = {"type": "http", "method": "GET", "path": "/static/x", "headers": [(b"host", b"127.0.0.1:1")]}
    asyncio.run(guard(scope, None, send))
    assert sent[0]["status"] == 500
    told = capsys.readouterr().err
    assert "ValueError in app, line" in told
    assert "secret" not in told + sent[1]["body"].decode()


# What comes of files


def test_names_of_others_are_never_paths(page, visitor):
    names = [
        "../../../../tmp/evil.csv",
        "/etc/passwd",
        "C:\\evil.csv",
        "a\0b.csv",
        "..",
        "",
        "x" * 5000 + ".csv",
        "t.csv/",
        "é\n.csv",
    ]
    before = sorted(each.name for each in page.folder.iterdir())
    for name in names:
        review = visitor.post("/reviews")[1]["location"]
        status, _, text = visitor.put(f"{review}/put/table", b"a,b\n1,2\n", name)
        assert status == 200, text
        [found] = (page.private() / review.rpartition("/")[2]).iterdir()
        assert found.name in ("table", "table.csv")
        assert stat.S_IMODE(found.stat().st_mode) == 0o600
        assert stat.S_IMODE(found.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(page.private().stat().st_mode) == 0o700
    assert before == sorted(each.name for each in page.folder.iterdir())
    assert _own_name("model", "Model.CSV.GZ") == "model.csv.gz"


def test_addresses_are_no_paths(page, visitor):
    review = visitor.post("/reviews")[1]["location"]
    visitor.put(f"{review}/put/table", b"a,b\n1,2\n", "t.csv")
    for path in ("file/table.csv", "file/..%2f..%2fetc%2fpasswd", "file/review.json", "file/%2e%2e"):
        assert visitor.get(f"{review}/{path}")[0] == 404
    for path in (
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/review/..%2f",
        "/review/zzzzzzzz",
        "/static/base.html.j2",
    ):
        assert visitor.get(path)[0] == 404
    for role in ("release", "..%2fx", "table-part", "model-part"):
        assert visitor.put(f"{review}/put/{role}", b"x", "../x.csv")[0] in (400, 404, 415)


async def chunks(*found):
    for each in found:
        yield each


def test_a_file_ends_at_the_limit(tmp_path):
    desk = Desk(tmp_path, most=1000)
    review = desk.new()
    for stated, given in (("2000", [b"x"]), ("", [b"x" * 600, b"x" * 600]), ("nonsense", [b"x" * 1001])):
        with pytest.raises(Refused, match="at most 0 MB") as caught:
            asyncio.run(desk.receive(review, "table", "t.csv", stated, chunks(*given)))
        assert caught.value.status == 413
        assert list(review.folder.iterdir()) == []
    asyncio.run(desk.receive(review, "table", "t.csv", "", chunks(b"x" * 1000)))
    assert (review.folder / "table.csv").stat().st_size == 1000
    with pytest.raises(Refused, match="nothing in it"):
        asyncio.run(desk.receive(review, "table", "u.csv", "0", chunks()))


def test_a_sender_who_goes_away_leaves_nothing(tmp_path):
    async def gone():
        yield b"x"
        raise ConnectionResetError("gone")

    desk = Desk(tmp_path)
    review = desk.new()
    with pytest.raises(Refused):
        asyncio.run(desk.receive(review, "model", "m.json", "", gone()))
    assert list(review.folder.iterdir()) == []
    assert review.files == {}


def test_a_full_disk_is_a_sentence(tmp_path, monkeypatch):
    class Full:
        def __init__(self, *args, **kwargs):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *args):
            pass

        def write(self, data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    desk = Desk(tmp_path)
    review = desk.new()
    monkeypatch.setattr("builtins.open", Full)
    with pytest.raises(Refused, match="the disk is full: make room") as caught:
        asyncio.run(desk.receive(review, "model", "m.json", "", chunks(b"x")))
    assert caught.value.status == 507


def test_a_disk_that_ends_is_a_sentence_on_the_page(tmp_path):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    with served(tmp_path, limit=limit) as page:
        visitor = page.visit()
        review = visitor.post("/reviews")[1]["location"]
        status, _, text = visitor.put(f"{review}/put/table", b"a,b\n" * 200_000, "t.csv")
        assert status == 507
        assert "the disk is full" in json.loads(text)["sentence"]
        assert visitor.get("/")[0] == 200
        assert visitor.put(f"{review}/put/table", b"a,b\n1,2\n", "t.csv")[0] == 200


# What stays


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, "stop"])
def test_nothing_stays_at_the_end(tmp_path, how):
    with served(tmp_path) as page:
        visitor = page.visit()
        review = visitor.post("/reviews")[1]["location"]
        visitor.put(f"{review}/put/table", b"a,b\n1,2\n", "t.csv")
        assert page.private().is_dir()
        if how == "stop":
            assert "maxent has stopped" in visitor.post("/stop")[2]
        else:
            page.process.send_signal(how)
        page.process.wait(30)
        assert page.process.returncode in (0, -how) if how != "stop" else page.process.returncode == 0
        assert page.process.stderr.read() == ""
        assert page.process.stdout.read() == ""
    assert list(tmp_path.iterdir()) == []


def processes_of(folder):
    """Processes that work in a folder."""
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/cwd").startswith(str(folder)):
                found.append(int(pid))
        except OSError:
            continue
    return found


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc, to see processes")
def test_what_was_killed_is_removed_by_the_next_start(tmp_path):
    kept = tmp_path / "kept"
    with served(tmp_path, "--folder", str(kept)) as page:
        visitor = page.visit()
        page.folder = kept
        review = visitor.post("/reviews")[1]["location"]
        for role, path in zip(("model", "table"), FILES, strict=True):
            visitor.put(f"{review}/put/{role}", path.read_bytes(), path.name)
        visitor.post(f"{review}/look")
        left = page.private()
        with served(tmp_path, "--folder", str(kept)):  # meanwhile its lock is not free
            assert left.is_dir()
        page.process.kill()
        page.process.wait(30)
        assert left.is_dir()
    end = time.monotonic() + 30
    while processes_of(left):
        assert time.monotonic() < end, "what it had started goes on"
        time.sleep(0.05)
    with served(tmp_path, "--folder", str(kept)):
        assert not left.exists()


def test_nothing_is_unpickled(page, visitor, tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    content = pickle.dumps(Evil())
    for number, name in enumerate(("model.pkl", "model.joblib", "model.json", "model")):
        (tmp_path / name).write_bytes(content)
        review = visitor.begin(tmp_path / name, FILES[1] if number < 2 else tmp_path / name)
        text = visitor.get(review)[2]
        assert "is not read as it is" in text
        assert "skops.io.dump(model" in text  # the lines to copy
    assert not (tmp_path / "ran").exists()


def test_logs_hold_no_values(tmp_path):
    (tmp_path / "bad.csv").write_text("name,salary\nZEBEDEE,17\nZEBEDEE\n", encoding="utf-8")
    (tmp_path / "bad.json").write_text('{"format": "maxent/1", "ZEBEDEE": 1}', encoding="utf-8")
    with served(tmp_path) as page:
        visitor = page.visit()
        review = visitor.begin(tmp_path / "bad.json", tmp_path / "bad.csv")
        assert "is not read as it is" in visitor.get(review)[2]
        visitor.post(f"{review}/judge", {"target": "ZEBEDEE"})
        visitor.get("/review/ZEBEDEE?ZEBEDEE")
        page.process.send_signal(signal.SIGINT)
        page.process.wait(30)
        assert "ZEBEDEE" not in page.process.stderr.read() + page.process.stdout.read()


# A review without a browser


def judged(visitor, **more):
    review = visitor.begin(*FILES)
    text = visitor.get(review)[2]
    assert "maxent/1" in text
    assert "11 rows" in text
    fields = {"target": "Salary", "known": "Education", "min_k": "2", "max_certain": "0", **more}
    status, headers, text = visitor.post(
        f"{review}/judge", [*fields.items(), ("known", "Country"), ("known", "Gender")]
    )
    assert (status, headers.get("location")) == (303, review), text
    visitor.wait(review)
    return review


@pytest.mark.slow
def test_a_judged_review_is_opened_again(tmp_path):
    kept = tmp_path / "kept"
    with served(tmp_path, "--folder", str(kept)) as page:
        visitor = page.visit()
        review = judged(visitor)
        text = visitor.get(review)[2]
        assert ">FAIL<" in text
        told = {"decision": "rejected", "reason": "who <b>is</b> certain", "by": "Ada", "role": "checker"}
        assert visitor.post(f"{review}/decide", {**told, "reason": " "})[0] == 400
        assert visitor.post(f"{review}/decide", told)[0] == 303
        assert visitor.post(f"{review}/decide", {**told, "decision": "approved"})[0] == 409
        assert "who &lt;b&gt;is&lt;/b&gt; certain" in visitor.get(review)[2]
    [folder] = kept.iterdir()
    assert KEPT.fullmatch(folder.name)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    record = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    assert {**told, "decided_by": "Ada"}.items() - {("by", "Ada")} <= record["decision"].items()
    verified = subprocess.run([sys.executable, "-m", "maxent", "verify", folder / "record.json"], capture_output=True)
    assert verified.returncode == 0, verified.stderr
    for name, change in (
        ("review-20200101-000000-00000001", {"files": {"model": "../../x", "table": "t.csv"}}),
        ("review-20200101-000000-00000002", {"format": "x"}),
    ):
        (kept / name).mkdir()
        document = json.loads((folder / "review.json").read_text(encoding="utf-8"))
        (kept / name / "review.json").write_text(json.dumps({**document, **change}), encoding="utf-8")
    with served(tmp_path, "--folder", str(kept)) as page:
        visitor = page.visit()
        text = visitor.get("/")[2]
        assert review in text
        assert "/review/00000001" not in text
        assert "/review/00000002" not in text
        assert ">FAIL<" in visitor.get(review)[2]
        status, headers, text = visitor.get(f"{review}/file/report.html")
        assert status == 200
        assert headers["content-security-policy"].startswith("sandbox allow-scripts")
        status, headers, text = visitor.get(f"{review}/file/record.json?save=1")
        assert json.loads(text) == record
        assert headers["content-disposition"].startswith("attachment")


KNOWN = [("known", name) for name in ("Education", "Country", "Gender")]


def counted(people):
    """A document that states how many earn more."""
    count = {"kind": "count", "class": ">50K", "equals": int((people["Salary"] == ">50K").sum())}
    target = {"name": "Salary", "classes": ["<=50K", ">50K"]}
    return {"format": "maxent-statements/1", "target": target, "statements": [count]}


@pytest.mark.slow
def test_a_policy_a_register_and_limits_of_others(tmp_path):
    kept = tmp_path / "kept"
    people = pd.read_csv(D1 / "truth.csv")
    pd.concat([people, people.iloc[:4]]).drop(columns="Salary").to_csv(tmp_path / "register.csv", index=False)
    people.iloc[[0, 3, 5]].to_csv(tmp_path / "outside.csv", index=False)
    text = 'name = "Office 7"\n[limits]\nmin_k = 3\nmax_certain = 5\n'
    (tmp_path / "officer.toml").write_text(text, encoding="utf-8")
    (tmp_path / "count.json").write_text(json.dumps(counted(people)), encoding="utf-8")
    beside = {
        "policy": tmp_path / "officer.toml",
        "population": tmp_path / "register.csv",
        "control": tmp_path / "outside.csv",
        "statements": tmp_path / "count.json",
    }
    fields = [("target", "Salary"), *KNOWN, ("min_k", "1"), ("predictions-max_certain", "0")]
    with served(tmp_path, "--folder", str(kept)) as page:
        visitor = page.visit()
        review = visitor.begin(*FILES, **beside)
        text = visitor.get(review)[2]
        assert "Office 7, 2 limits" in text
        assert "15 rows, 3 columns" in text
        assert 'id="preset"' not in text
        for more, said in (
            (("preset", "satre"), "found both"),
            (("people", "many"), "expected a whole number"),
            (("rows-max_certain", "-1"), "expected a whole number"),
            (("rows-max_posterior", "2"), "a share from 0 to 1"),
            (("sample_weight", "nothing"), "a column of the table"),
        ):
            status, _, text = visitor.post(f"{review}/judge", [*fields, more])
            assert status == 400
            assert said in text
        assert visitor.post(f"{review}/judge", [*fields, ("people", "11")])[0] == 303  # limits that are not ticked
        visitor.wait(review)
        text = visitor.get(review)[2]
        assert "by Office 7. 11 people" in text
        assert "at least 3: beyond the limit" in text
        assert "largest P(member)" in text
        assert json.loads(visitor.get(f"{review}/file/release.json?save=1")[2])["format"] == "maxent/1"
        assert json.loads(visitor.get(f"{review}/file/statements.json?save=1")[2]) == counted(people)
        again = visitor.post(f"{review}/again")[1]["location"]
        assert visitor.post(f"{again}/judge", [*fields, ("with_limits", "yes")])[0] == 303
        visitor.wait(again)
        text = visitor.get(again)[2]
        assert "2 people" not in text
        assert "own policy, extends Office 7; 1 limit relaxed: min_k 1 (was 3); 1 limit added: predictions" in text
        assert "who has the predictions" in text
        assert tomllib.loads(visitor.get(f"{again}/file/limits.toml?save=1")[2])["limits"]["min_k"] == 1
    for record in kept.glob("review-*/record.json"):
        verified = subprocess.run([sys.executable, "-m", "maxent", "verify", record], capture_output=True)
        assert verified.returncode == 0, verified.stderr
        inputs = json.loads(record.read_text(encoding="utf-8"))["inputs"]
        assert {"release", "table", "statements", *beside} <= {each["role"] for each in inputs}


@pytest.mark.parametrize(
    "text",
    ['extends = "/etc/passwd"', 'extends = "other.toml"', '[adversary]\nfacts = "/etc/passwd"', "[limits", "x = 1"],
)
def test_a_policy_opens_no_file(visitor, tmp_path, text):
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    review = visitor.begin(*FILES, policy=tmp_path / "policy.toml")
    page = visitor.get(review)[2]
    assert "policy.toml is not read as it is" in page
    assert "root:" not in page
    assert 'id="target"' not in page
    status, _, text = visitor.post(f"{review}/judge", [("target", "Salary"), *KNOWN, ("min_k", "2")])
    assert status == 400
    assert "policy.toml is not read as it is" in text


@pytest.mark.slow
def test_several_columns_weights_and_another_format(tmp_path):
    kept = tmp_path / "kept"
    people = pd.read_csv(D1 / "truth.csv").assign(weight=[1, 2] * 5 + [1])
    X = pd.get_dummies(people[["Education", "Country"]]).astype(int)
    pd.concat([X, people[["Salary", "Gender", "weight"]]], axis=1).to_csv(tmp_path / "people.csv", index=False)
    grown = DecisionTreeClassifier(max_depth=2, random_state=0)
    skops.io.dump(grown.fit(X, people[["Salary", "Gender"]]), tmp_path / "both.skops")
    fields = [*(("known", name) for name in X.columns), ("max_certain", "11"), ("min_k", "1")]
    with served(tmp_path, "--folder", str(kept)) as page:
        visitor = page.visit()
        review = visitor.begin(tmp_path / "both.skops", tmp_path / "people.csv")
        text = visitor.get(review)[2]
        assert re.findall("<option selected>([^<]*)</option>", text) == ["Salary", "Gender"]
        assert visitor.post(f"{review}/judge", [("target", "Salary"), ("target", "Salary"), *fields])[0] == 400
        assert visitor.post(f"{review}/judge", [("target", "Salary"), ("target", "Gender"), *fields])[0] == 303
        visitor.wait(review)
        text = visitor.get(review)[2]
        for name in ("Salary", "Gender"):
            assert f"Checks of {name}" in text
        told = {"decision": "rejected", "reason": "who is certain", "by": "Ada"}
        assert visitor.post(f"{review}/decide", told)[0] == 303
        skops.io.dump(grown.fit(X, people["Salary"], sample_weight=people["weight"]), tmp_path / "weighed.skops")
        weighed = visitor.begin(tmp_path / "weighed.skops", tmp_path / "people.csv")
        own = [("target", "Salary"), ("sample_weight", "weight"), ("published_as", "pmml"), *fields]
        assert visitor.post(f"{weighed}/judge", own)[0] == 303
        visitor.wait(weighed)
        text = visitor.get(weighed)[2]
        assert "It is published as pmml." in text
        assert "People weigh as weight says." in text
    records = sorted(kept.glob("review-*/record*.json"))
    assert len(records) == 3
    for path in records:
        record = json.loads(path.read_text(encoding="utf-8"))
        options = record["call"]["options"]
        if path.name == "record.json":
            assert (options["sample_weight"], options["published_as"]) == ("weight", "pmml")
        else:
            assert record["decision"]["decided_by"] == "Ada"
            assert options["target"] == {"record-1.json": "Salary", "record-2.json": "Gender"}[path.name]
        verified = subprocess.run([sys.executable, "-m", "maxent", "verify", path], capture_output=True)
        assert verified.returncode == 0, verified.stderr


def test_work_is_cancelled(visitor, page):
    review = visitor.post("/reviews")[1]["location"]
    for role, path in zip(("model", "table"), FILES, strict=True):
        visitor.put(f"{review}/put/{role}", path.read_bytes(), path.name)
    visitor.post(f"{review}/look")
    assert visitor.put(f"{review}/put/table", b"x", "t.csv")[0] == 409
    visitor.post(f"{review}/cancel")
    visitor.wait(review)
    assert "It was cancelled" in visitor.get(review)[2]


@pytest.mark.slow
def test_what_would_pass(tmp_path):
    with served(tmp_path) as page:
        visitor = page.visit()
        review = judged(visitor)
        assert visitor.get(f"{review}/file/advised.json")[0] == 404
        assert visitor.post(f"{review}/advise")[0] == 303
        assert visitor.post(f"{review}/decide", {"decision": "approved", "reason": "x", "by": "y"})[0] == 409
        visitor.wait(review)
        text = visitor.get(review)[2]
        assert "prune-leaf" in text
        assert "best: " in text
        assert '<th scope="row">this model</th>' in text
        best = json.loads(visitor.get(f"{review}/file/advised.json?save=1")[2])
        assert best["format"] == "maxent/1"
        other = visitor.post(f"{review}/best")[1]["location"]
        assert other != review
        visitor.wait(other)
        assert "instead of tree.json" in visitor.get(other)[2]


@pytest.mark.slow
def test_a_search_says_what_it_does_not_take(tmp_path):
    people = pd.read_csv(D1 / "truth.csv").assign(weight=[1, 2] * 5 + [1])
    X = pd.get_dummies(people[["Education", "Country"]]).astype(int)
    table = pd.concat([X, people[["Salary", "weight"]]], axis=1)
    table.to_csv(tmp_path / "people.csv", index=False)
    table.drop(columns=["Salary", "weight"]).to_csv(tmp_path / "register.csv", index=False)
    grown = DecisionTreeClassifier(max_depth=2, random_state=0)
    skops.io.dump(grown.fit(X, people["Salary"], sample_weight=people["weight"]), tmp_path / "weighed.skops")
    (tmp_path / "count.json").write_text(json.dumps(counted(people)), encoding="utf-8")
    beside = {"population": tmp_path / "register.csv", "statements": tmp_path / "count.json"}
    known = [("known", name) for name in X.columns[1:]]
    fields = [("target", "Salary"), ("sample_weight", "weight"), ("published_as", "pmml"), *known, ("min_k", "2")]
    with served(tmp_path) as page:
        visitor = page.visit()
        review = visitor.begin(tmp_path / "weighed.skops", tmp_path / "people.csv", **beside)
        more = [("no_marginal", "yes"), ("predictions-max_certain", "11")]
        visitor.post(f"{review}/judge", [*fields, *more])
        visitor.wait(review)
        text = visitor.get(review)[2]
        assert "There is no result" not in text, text
        left_out = re.search("does not take into account: ([^<]*)[.] Judge", text)[1]
        assert left_out == (
            "the weights in weight, the register register.csv, the statements count.json, an adversary who does not "
            f"know the base rate, columns that an adversary does not know ({X.columns[0]}), MX202 of the predictions"
        )
        assert visitor.post(f"{review}/advise")[0] == 303
        visitor.wait(review)
        assert f"<li>the search did not take into account: {left_out}</li>" in visitor.get(review)[2]
        assert "the search did not take into account" in visitor.get(f"{review}/file/advice.html?save=1")[2]
        best = visitor.post(f"{review}/best")[1]["location"]
        visitor.wait(best)
        text = visitor.get(best)[2]
        asked = [*(each for each in fields if each[0] not in ("sample_weight", "published_as")), *more]
        assert "<option selected>pmml" not in text
        assert "<option selected>weight" not in text
        assert visitor.post(f"{best}/judge", asked)[0] == 303
        visitor.wait(best)
        text = visitor.get(best)[2]
        assert "register.csv" in text
        assert "count.json" in text
        assert "People weigh" not in text
        assert "There is no result" not in text


def test_tables_of_r_are_one_model(tmp_path):
    desk = Desk(tmp_path)
    review = desk.new()
    for name in ("frame.csv", "splits.csv", "tree12.csv"):
        asyncio.run(desk.receive(review, "model", name, "", chunks(b"x"), part=True))
    assert sorted(each.name for each in review.path("model").iterdir()) == ["frame.csv", "splits.csv", "tree12.csv"]
    for name in ("../frame.csv", "frame.csv/", "x.csv", "tree.csv.csv", ".frame.csv", ""):
        with pytest.raises(Refused, match="expected one file"):
            asyncio.run(desk.receive(review, "model", name, "", chunks(b"x"), part=True))
    asyncio.run(desk.receive(review, "model", "tree.json", "", chunks(b"{}")))
    assert [each.name for each in review.folder.iterdir()] == ["model.json"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"target": "nothing"}, "the secret"),
        ({"known": "Salary"}, "at least one column"),
        ({"preset": "../x"}, "a policy of the list"),
        ({"min_k": "", "max_certain": ""}, "at least one limit"),
        ({"min_k": "many"}, "expected a whole number"),
        ({"time_limit": "0"}, "expected 1 to 3600 seconds"),
        ({"parameters": "x"}, "NAME=VALUE"),
    ],
)
def test_choices_that_cannot_be(visitor, looked, fields, said):
    good = {"target": "Salary", "known": "Education", "min_k": "2", "max_certain": "0"}
    status, _, text = visitor.post(f"{looked}/judge", {**good, **fields})
    assert status == 400
    assert said in text


@pytest.fixture(scope="module")
def looked(visitor):
    return visitor.begin(*FILES)


# Files to click on


@pytest.mark.slow
def test_a_shortcut_starts_it(tmp_path):
    folder = tmp_path / "a 'strange' $name"
    call = [sys.executable, "-m", "maxent", "serve", "--no-browser", "--folder", str(folder), "--shortcut"]
    for suffix in (".command", ".desktop", ".bat"):
        path = tmp_path / f"start{suffix}"
        assert subprocess.run([*call, path]).returncode == 0
        assert subprocess.run([*call, path], capture_output=True).returncode == 0  # its own is replaced
    assert not folder.exists()
    other = tmp_path / "other.bat"
    other.write_text("echo", encoding="utf-8")
    for path in (other, tmp_path / "start.exe"):
        assert subprocess.run([*call, path], capture_output=True).returncode == 2
    (tmp_path / "maxent.py").write_text("print('somebody else')", encoding="utf-8")  # in the folder that it starts in
    start = ["/bin/sh", tmp_path / "start.command"]
    with subprocess.Popen(start, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.terminate()
    assert folder.is_dir()
    assert os.access(tmp_path / "start.command", os.X_OK)
    assert os.access(tmp_path / "start.desktop", os.X_OK)
    desktop = (tmp_path / "start.desktop").read_text(encoding="utf-8")
    assert f'"{str(folder).replace("$", chr(92) * 2 + "$")}"' in desktop
    batch = (tmp_path / "start.bat").read_bytes()
    assert f'"{sys.executable}" "-P" "-m" "maxent" "serve" "--folder" "{folder}"'.encode() in batch
    assert batch.endswith(b"\r\npause\r\n")


def test_a_port_that_is_taken(page):
    call = [sys.executable, "-m", "maxent", "serve", "--no-browser", "--port", str(page.port)]
    ended = subprocess.run(call, capture_output=True, text=True)
    assert ended.returncode == 2
    assert "--port: expected a port that is free" in ended.stderr


def test_the_secret_of_the_file_is_proposed(tmp_path):
    """Also where another column of the table could be one."""
    people = pd.read_csv(D1 / "truth.csv").assign(Wave=lambda table: [f"w{i % 2}" for i in range(len(table))])
    people.to_csv(tmp_path / "people.csv", index=False)
    found = look({"model": str(D1 / "tree.json"), "table": str(tmp_path / "people.csv")}, lambda *far: None)
    assert found["targets"] == ["Salary"]
