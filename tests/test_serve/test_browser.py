"""The page of ``maxent serve`` in a real browser, from drop to download."""

import json
import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import skops.io
from diabetes import publish
from sklearn.ensemble import RandomForestClassifier
from support.served import served

from maxent.serve.app import rendered

pytest.importorskip("playwright", reason="needs playwright: pip install -e '.[dev]'")


@pytest.fixture(scope="module")
def patients(tmp_path_factory):
    """Tree and table of the tutorial's patients, and a default forest of few trees."""
    folder = tmp_path_factory.mktemp("patients")
    publish(folder)
    table = pd.read_csv(folder / "truth.csv")[["age", "bmi", "progression"]].round(0)
    table["progression"] = np.where(table["progression"] == "high", "high", "other")
    table.to_csv(folder / "two.csv", index=False)
    model = RandomForestClassifier(2, max_depth=2, random_state=0).fit(table[["age", "bmi"]], table["progression"])
    skops.io.dump(model, folder / "forest.skops")
    (folder / "forest.pkl").write_bytes(pickle.dumps(model))
    return folder


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("private")
    with served(folder, "--folder", str(folder / "kept")) as found:
        yield found


@pytest.fixture(scope="module")
def visitor(page):
    return page.visit()


@pytest.fixture
def opened(browser, page, visitor):
    """A window that is let in; at the end nothing was asked of the network, and nothing went wrong."""
    contexts, trouble = [], []

    def opening(width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        window = context.new_page()
        here = f"http://127.0.0.1:{page.port}/"
        window.on("console", lambda message: trouble.append(message.text))
        window.on("pageerror", lambda error: trouble.append(str(error)))
        window.on("request", lambda asked: asked.url.startswith((here, "data:")) or trouble.append(asked.url))
        text = visitor.post("/address")[2]
        window.goto(here + "?token=" + text.partition("?token=")[2].partition('"')[0])
        assert window.url == here
        return window

    yield opening
    for context in contexts:
        context.close()
    assert trouble == []


def drop(window, model, table):
    """Drop two files, and wait until they were looked at."""
    window.set_input_files("#model", model)
    window.set_input_files("#table", table)
    window.click("text=Look at the files")
    window.wait_for_selector("#table-title", timeout=240_000)


def judge(window):
    window.click("button:text-is('Judge')")
    window.wait_for_selector("#verdict-title", timeout=240_000)


def faults(window):
    """What axe-core finds that is serious or critical."""
    sync_playwright = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    window.wait_for_load_state()  # else axe may read a page whose style sheets are on their way
    found = sync_playwright.Axe().run(window).response["violations"]
    return [(each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in ("serious", "critical")]


def sideways(window):
    """Pixels by which the page is wider than the window."""
    return window.evaluate("document.documentElement.scrollWidth - window.innerWidth")


def test_patients_from_drop_to_download(opened, patients, page):
    window = opened()
    drop(window, patients / "tree.json", patients / "truth.csv")
    text = window.inner_text("main")
    assert "442 rows, 5 columns" in text
    assert window.input_value("#target") == "progression"
    assert window.locator("[name=known]:checked").count() == 4
    assert window.locator("table >> text=The first").count() == 0
    judge(window)
    assert window.inner_text("#verdict-title") == "FAIL"
    text = window.inner_text("main")
    assert "MX202" in text
    assert "the tree cut back from 15 leaves" in text.lower()
    for rung in ("predictions", "population", "table", "rows", "all but one"):
        assert window.get_by_role("rowheader", name=rung, exact=True).count() == 1
    with window.expect_popup() as popup:
        window.click("text=Open the report")
    popup.value.wait_for_selector("#canvas .node")  # its script runs, by itself
    assert popup.value.evaluate("window.origin") == "null"
    window.check("text=Reject")
    window.fill("#reason", "five are certain")
    window.fill("#by", "Ada")
    window.click("text=Write the decision")
    assert "Rejected by Ada" in window.inner_text("main")
    with window.expect_download() as download:
        window.click("text=The record, for whoever")
    record = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert record["decision"]["decision"] == "rejected"
    assert record["verdict"]["status"] == "fail"
    handed = ("model.json", "release.json", "report.html", "dossier.html", "dossier-public.html", "sacro.zip")
    for name in handed:
        with window.expect_download() as download:
            window.click(f"a[href*='/{name}?save']")
        assert download.value.path().stat().st_size > 100


@pytest.mark.slow
def test_a_forest_is_stripped_and_judged_again(opened, patients):
    window = opened()
    drop(window, patients / "forest.skops", patients / "two.csv")
    assert "seeds of the draws" in window.inner_text("main")
    window.fill("#min_k", "1")
    window.fill("#max_certain", "442")
    judge(window)
    row = window.get_by_role("row").filter(has_text="MX406").first
    assert "FAIL" in row.inner_text()
    address = window.url
    window.click("text=Take the seeds out")
    window.wait_for_url(lambda url: url != address)
    window.wait_for_selector("#verdict-title", timeout=240_000)
    assert "Taken out of the file before" in window.inner_text("main")
    row = window.get_by_role("row").filter(has_text="MX406").first
    assert "FAIL" not in row.inner_text()


WRONG = {
    "forest.pkl": (None, "skops.io.dump(model"),
    "model.rds": (b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x8b\xe0b``b`f\x06\0", "readRDS"),
    "model.png": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "It looks like a picture, and no model that is read"),
    "paper.pdf": (b"%PDF-1.7\n1 0 obj\n", "It looks like a PDF document, and no model that is read"),
    "net.h5": (b"\x89HDF\r\n\x1a\n" + bytes(64), "in which Keras keeps neural networks, and no model that is read"),
    "net.pt": (b"PK\3\4" + bytes(64), "It looks like a zip archive, and no model that is read"),
    "note.txt": (b"The model is below.\n", "It looks like other text, and no model that is read"),
    "other.onnx": (b"\x08\x07\x12\x07pytorch", "other.onnx: file: content: expected a model in ONNX"),
    "empty.json": (b"{}", "expected"),
    "broken.json": (b'{"format": "maxent/1"', "expected"),
    "table.csv": (b"a,b\n1,2\n", "the other way round"),
    "model.RData": (b"RDX3\nX\n", "get(load("),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_model_is_answered(visitor, patients, tmp_path, name):
    content, said = WRONG[name]
    path = tmp_path / name
    path.write_bytes((patients / name).read_bytes() if content is None else content)
    text = visitor.get(visitor.begin(path, patients / "truth.csv"))[2]
    assert f"{name} is not read as it is" in text
    assert said in text
    assert "442 rows" in text


TABLES = {
    "forest.pkl": (None, "forest.pkl: line 1: encoding: expected CSV text"),
    "tree.json": (None, "tree.json: file: format: expected a table"),
    "data.sav": (b"$FL2@(#) SPSS DATA FILE", "found a file of SPSS (export it as CSV there)"),
    "data.dta": (b"<stata_dta><header>", "found a file of Stata (export it as CSV there)"),
    "data.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "found an Excel workbook of old (save it as .xlsx)"),
    "scan.pdf": (b"%PDF-1.7\n1 0 obj\n", "found a PDF document"),
    "all.zip": (b"PK\3\4" + bytes(64), "found a zip archive"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_wrong_table_is_answered(visitor, patients, tmp_path, name):
    content, said = TABLES[name]
    path = tmp_path / name
    path.write_bytes((patients / name).read_bytes() if content is None else content)
    text = visitor.get(visitor.begin(patients / "tree.json", path))[2]
    assert f"{name} is not read as it is" in text
    assert said in text
    assert 'action="/review/' not in text or "/judge" not in text


def test_a_table_of_others_is_answered(visitor, patients, tmp_path):
    people = (patients / "truth.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "none.csv").write_text(people[0] + "\n", encoding="utf-8")
    (tmp_path / "paper.csv").write_bytes(b"Dear all, here is\nthe, table\n")
    (tmp_path / "public.csv").write_text("\n".join(each.rpartition(",")[0] for each in people), encoding="utf-8")
    for name, said in (
        ("none.csv", "expected a row for each person, found none"),
        ("paper.csv", "it has no columns age, sex, bmi, bp, progression"),
        ("public.csv", "it has no column progression"),
    ):
        assert said in visitor.get(visitor.begin(patients / "tree.json", tmp_path / name))[2]


def test_an_empty_file_is_answered(opened, patients, tmp_path):
    (tmp_path / "none.csv").write_bytes(b"")
    window = opened()
    window.set_input_files("#model", patients / "tree.json")
    window.set_input_files("#table", tmp_path / "none.csv")
    window.click("text=Look at the files")
    window.wait_for_selector("#told >> text=found nothing in it")


@pytest.fixture(scope="module")
def reviews(visitor, patients):
    """Addresses of a review that was looked at, and of one that is judged."""
    looked = visitor.begin(patients / "tree.json", patients / "truth.csv")
    done = visitor.begin(patients / "tree.json", patients / "truth.csv")
    fields = [("target", "progression"), ("min_k", "10"), *(("known", name) for name in ("age", "sex", "bmi", "bp"))]
    assert visitor.post(f"{done}/judge", fields)[0] == 303
    visitor.wait(done)
    return ["/", looked, done]


# What a screen reader would call nothing
UNNAMED = """[...document.querySelectorAll("input:not([type=hidden]),select,textarea,button,a")]
.filter(e => !(e.labels && e.labels.length) && !e.ariaLabel && !e.textContent.trim()).map(e => e.outerHTML)"""


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark"), (640, "light")])
def test_everybody_can_read_it(opened, page, reviews, width, scheme):
    """640 pixels are those of 1280 at 200 % zoom."""
    window = opened(width, color_scheme=scheme)
    for path in reviews:
        window.goto(f"http://127.0.0.1:{page.port}{path}")
        assert sideways(window) <= 0
        assert faults(window) == []
        assert window.evaluate(UNNAMED) == []


def test_everybody_can_read_what_comes_between(opened, page, visitor, patients):
    """Progress, a model that is not read, a new address."""
    window = opened(400, color_scheme="dark")
    here = f"http://127.0.0.1:{page.port}"
    progress = {"text": "Judging", "at": "solving", "done": 1, "total": 3, "seconds": 2, "forecast": "about 4 s left"}
    review = SimpleNamespace(number="0a1b2c3d", names={"model": "tree.json", "table": "t.csv"}, job=None)
    shown = rendered("progress", token=visitor.token, review=review, progress={**progress, "running": True})
    window.route(f"{here}/progress", lambda route: route.fulfill(body=shown, content_type="text/html"))
    window.route("**/state", lambda route: route.fulfill(json={**progress, "running": True}))
    wrong = visitor.begin(patients / "forest.pkl", patients / "two.csv")
    for path in ("/progress", wrong):
        window.goto(here + path)
        assert faults(window) == []
        assert window.evaluate(UNNAMED) == []
        assert sideways(window) <= 0
    window.click("text=Another browser")
    assert "?token=" in window.input_value("#address")
    assert faults(window) == []
    assert sideways(window) <= 0


def tab_to(window, words):
    """Press Tab until something has the focus whose name begins so; it has to be seen there."""
    for _ in range(90):
        window.keyboard.press("Tab")
        assert window.evaluate("document.activeElement.matches(':focus-visible')")
        name = "(e => ((e.labels && e.labels[0]) || e).textContent.trim())(document.activeElement)"
        if window.evaluate(name).startswith(words):
            return
    raise AssertionError(words)


@pytest.mark.slow
def test_the_keyboard_alone_reaches_the_decision(opened, patients):
    window = opened()
    window.keyboard.press("Tab")
    assert window.evaluate("document.activeElement.className") == "skip"
    for words, name in (("The model", "tree.json"), ("The training table", "truth.csv")):
        tab_to(window, words)
        window.set_input_files(":focus", patients / name)  # the system's own window is the system's
    tab_to(window, "Look at the files")
    window.keyboard.press("Enter")
    window.wait_for_selector("#table-title", timeout=240_000)
    tab_to(window, "Judge")
    window.keyboard.press("Enter")
    window.wait_for_selector("#verdict-title", timeout=240_000)
    tab_to(window, "Approve")
    window.keyboard.press("ArrowRight")
    tab_to(window, "Why")
    window.keyboard.type("five are certain")
    tab_to(window, "Your name")
    window.keyboard.type("Ada")
    window.keyboard.press("Enter")
    window.wait_for_url("**#decision-title")
    assert "Rejected by Ada" in window.inner_text("main")


DROPPED = """([names]) => {
  const data = new DataTransfer();
  for (const name of names) data.items.add(new File(["{}"], name));
  return data;
}"""


def test_files_are_dropped_on_their_fields(opened):
    window = opened()

    def dropped(where, *names):
        window.dispatch_event(where, "drop", {"dataTransfer": window.evaluate_handle(DROPPED, [names])})
        return window.inner_text("#told")

    def files(field):
        return window.evaluate("id => [...document.getElementById(id).files].map(each => each.name)", field)

    assert dropped("label[for=model]", "tree.json") == "tree.json"  # beside the field, within its border
    assert dropped(".zone:has(#table)", "truth.csv") == "truth.csv"
    assert "found several" in dropped(".zone:has(#table)", "one.csv", "other.csv")
    assert "on its field" in dropped("h1", "tree.json")
    assert (files("model"), files("table")) == (["tree.json"], ["truth.csv"])
    event = "new DragEvent('{}', {{bubbles: true, cancelable: true, dataTransfer: new DataTransfer()}})"
    for kind in ("dragover", "drop"):  # a browser that is not kept from it leaves the page
        assert window.evaluate(f"!document.body.dispatchEvent({event.format(kind)})")


@pytest.mark.slow
def test_without_a_script(browser, page, visitor, patients):
    for name in ("tree.json", "truth.csv"):
        (page.folder / "kept" / name).write_bytes((patients / name).read_bytes())
    context = browser.new_context(java_script_enabled=False)
    try:
        window = context.new_page()
        text = visitor.post("/address")[2]
        here = f"http://127.0.0.1:{page.port}/"
        window.goto(here + "?token=" + text.partition("?token=")[2].partition('"')[0])
        assert not window.locator("#drop").is_visible()
        window.select_option("#from-model", "tree.json")
        window.select_option("#from-table", "truth.csv")
        window.click("text=Look at these files")
        window.wait_for_selector("#table-title", timeout=240_000)  # the page loads itself again
        judge(window)
        assert window.inner_text("#verdict-title") == "FAIL"
    finally:
        context.close()
