"""Reports in a real browser."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from support.paths import ROOT
from support.reported import HOSTILE, forest, hostile, large

from maxent.__main__ import main

D1 = [str(ROOT / "examples/d1" / name) for name in ("tree.json", "qi.csv")]


def written(folder, *call):
    path = folder / "report.html"
    assert main([*call, "--report", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """The eleven people's tree, and the same without its first leaf's numbers."""
    folder = tmp_path_factory.mktemp("compared")
    document = json.loads(Path(D1[0]).read_text(encoding="utf-8"))
    for node in document["trees"][0]["nodes"]:
        node.pop("error_rate", None)
    (folder / "after.json").write_text(json.dumps(document), encoding="utf-8")
    truth = str(ROOT / "examples/d1/truth.csv")
    call = ["compare", D1[0], str(folder / "after.json"), "--qi", D1[1], "--truth", truth, "--max-certain", "7"]
    return written(folder, *call)


@pytest.fixture(scope="module")
def named_to_harm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    return written(folder, "estimate", *hostile(folder))


@pytest.fixture
def opened(browser):
    """Open a report; at the end nothing was asked of the network, and nothing went wrong or popped up."""
    contexts, trouble = [], []

    def opening(path, width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: trouble.append(dialog.message) or dialog.dismiss())
        page.on("request", lambda request: request.url.startswith(("file:", "data:")) or trouble.append(request.url))
        page.goto(path.as_uri())
        return page

    yield opening
    for context in contexts:
        context.close()
    assert trouble == []


def node(page, text):
    return page.locator("#canvas .node").filter(has_text=text)


def sideways(page):
    """Pixels by which the page is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


def test_a_click_on_a_node_fills_the_panel(opened, compared):
    page = opened(compared)
    page.select_option("#release", label="tree")
    node(page, "Country = USA").click()
    panel = page.locator("#panel")
    assert panel.locator("h3").inner_text() == "Leaf L1"
    text = panel.inner_text()
    assert "Education = Masters, Country = USA" in text
    assert "error rate: 0.5" in text
    assert "2 people with 2 quasi-identifiers" in text
    assert "label >50K: no other class is more frequent" in text
    assert "with probability 0.653" in text
    assert node(page, "Country = USA").get_attribute("aria-selected") == "true"


def test_closing_and_opening(opened, compared):
    page = opened(compared)
    page.select_option("#release", label="tree")
    assert page.locator("#canvas .node").count() == 9
    node(page, "Education = Doctorate").locator(".toggle").click()
    assert page.locator("#canvas .node").count() == 7
    assert node(page, "Education = Doctorate").get_attribute("aria-expanded") == "false"
    page.click("#close-all")
    assert page.locator("#canvas .node").count() == 3
    assert page.locator("#told").inner_text() == "3 of 9 nodes are shown; open one (+) to see more."
    assert not page.locator("#drawn").is_visible()
    page.click("#open-all")
    assert page.locator("#canvas .node").count() == 9
    assert page.locator("#told").inner_text() == ""


def test_the_keyboard_does_all_that_the_mouse_does(opened, compared):
    page = opened(compared)
    page.focus("#close-all")
    page.keyboard.press("Tab")
    focused = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(focused).startswith("everybody: node N1, 11 people")
    assert page.evaluate("document.activeElement.matches(':focus-visible')")
    for key, name in [("ArrowRight", "N2"), ("ArrowLeft", "N2"), ("ArrowLeft", "N1"), ("End", "L5"), ("Home", "N1")]:
        page.keyboard.press(key)
        assert f" {name}," in page.evaluate(focused)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#panel h3").inner_text() == "Node N2"
    assert page.locator("#canvas [tabindex='0']").count() == 1
    page.keyboard.press("ArrowDown")
    page.keyboard.press(" ")
    assert page.locator("#panel h3").inner_text() == "Node N3"  # N2 was closed above


def test_what_is_found_and_shown(opened, compared):
    page = opened(compared)
    page.fill("#find", "L5")
    page.press("#find", "Enter")
    assert page.locator("#panel h3").inner_text() == "Leaf L5"
    page.select_option("#release", label="tree")
    page.click("#next")
    assert page.locator("#panel h3").inner_text() == "Leaf L4"  # three people, all certain
    page.locator("details.fold > summary").nth(1).click()
    page.locator("details.fold").nth(1).locator("button.show").first.click()
    assert page.locator("#release").input_value() == "1"


def test_colours_follow_the_measure(opened, compared):
    page = opened(compared)
    page.select_option("#release", label="tree")
    assert node(page, "Country = USA").locator(".s1").count() == 1
    page.select_option("#colour", "certain")
    assert node(page, "Country = USA").locator(".s0").count() == 1
    assert page.get_by_role("treeitem", name="leaf L4").locator(".s4").count() == 1
    assert "nobody" in page.locator("#legend").inner_text()


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_window(opened, compared, named_to_harm, width, scheme):
    grounds = set()
    for path in (compared, named_to_harm):
        page = opened(path, width, color_scheme=scheme)
        assert sideways(page) <= 0
        for summary in page.locator("details.fold > summary").all():
            summary.click()
        assert sideways(page) <= 0
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    [ground] = grounds
    assert (sum(map(int, re.findall(r"\d+", ground))) > 384) == (scheme == "light")


def test_numbers_and_words_are_not_broken(opened, compared):
    page = opened(compared, 400)
    for summary in page.locator("details.fold > summary").all():
        summary.click()
    broken = """all => all.filter((cell) => {
        const range = document.createRange(), words = [...cell.textContent.matchAll(/\\S+/g)], text = cell.firstChild;
        return text?.nodeType === 3 && cell.childNodes.length === 1 && words.some((word) => {
            range.setStart(text, word.index);
            range.setEnd(text, word.index + word[0].length);
            return range.getClientRects().length > 1;
        });
    }).map((cell) => cell.textContent)"""
    cells = page.locator("thead th:visible, td.n:visible, .value:visible")
    assert cells.count() > 20
    assert cells.evaluate_all(broken) == []
    assert page.get_by_text("Scroll sideways to see every release.").is_visible()


@pytest.mark.parametrize("width", [1280, 400])
def test_without_script_everything_can_be_read(opened, compared, width):
    page = opened(compared, width, java_script_enabled=False)
    assert page.locator(".static svg.tree").first.is_visible()
    assert not page.locator("#explorer").is_visible()
    assert not page.locator("button.show").first.is_visible()
    page.locator("details.fold > summary").first.click()
    assert page.get_by_text("Education = Masters, Country = USA").first.is_visible()
    assert page.get_by_role("heading", name="Within the stated limits").is_visible()


def test_hostile_names_do_nothing(opened, named_to_harm):
    page = opened(named_to_harm)
    page.click("#open-all")
    for place in range(len(HOSTILE)):
        page.locator("#canvas .node").nth(place + 1).click()
        assert page.locator("#panel h3").inner_text().startswith("Leaf ")
    page.fill("#find", HOSTILE[1])
    page.press("#find", "Enter")
    assert page.evaluate("document.scripts.length") == 2
    assert page.evaluate("document.querySelectorAll('img, iframe, object, embed, base, form').length") == 0
    assert page.evaluate("[...document.querySelectorAll('a')].every((a) => a.getAttribute('href').startsWith('#'))")
    assert page.evaluate(
        "[...document.querySelectorAll('*')].every((e) => !e.getAttributeNames().some((n) => /^on/.test(n)))"
    )


def test_the_policy_stops_what_is_not_part_of_the_report(browser, named_to_harm):
    page = browser.new_page()
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(named_to_harm.as_uri())
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.harmed = 1\">')")
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'window.harmed = 1'}))")
    page.wait_for_timeout(50)
    assert page.evaluate("window.harmed") is None
    assert len(refused) >= 2
    page.close()


def test_print_shows_all_of_it(opened, compared):
    page = opened(compared, 800)
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert not page.locator(".tools").is_visible()
    assert page.locator("#drawn").inner_text() == "after: The tree"
    assert len(page.pdf(format="A4")) > 10_000
    assert sideways(page) <= 0


@pytest.mark.slow
def test_the_first_page_of_a_print_has_the_verdict_and_the_figures_to_sign(opened, tmp_path):
    """All limits, what would pass, and all of the first page are on one sheet of 210 by 297 mm with its margins."""
    truth = str(ROOT / "examples/d1/truth.csv")
    limits = {"posterior": "0.6", "certain": "0", "right-guesses": "0.6", "lift": "0.1"}
    call = [word for name, most in limits.items() for word in (f"--max-{name}", most)]
    call += ["--min-k", "5", "--truth", truth, "--control", truth, "--purpose", "A survey"]
    page = opened(written(tmp_path, "compare", D1[0], *D1, *call), width=703)  # 186 mm at 96 pixels to the inch
    page.emulate_media(media="print")
    last = page.locator("#glance").bounding_box()
    assert last["y"] + last["height"] <= (297 - 2 * 12) / 25.4 * 96
    assert page.locator("#verdict .mend").is_visible()
    assert page.locator("#verdict .mark").count() == 2 * 5
    assert sideways(page) <= 0
    edge = page.locator("#verdict .box").bounding_box()
    right = [mark.bounding_box() for mark in page.locator("#verdict .mark").all()]
    assert all(box["x"] + box["width"] <= edge["x"] + edge["width"] for box in right)
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_a_column_of_the_whole_tree_leads_to_its_leaf(opened, compared):
    page = opened(compared)
    whole = page.locator("svg.whole").nth(1)
    box = whole.bounding_box()
    whole.click(position={"x": 0.9 * box["width"], "y": box["height"] - 5})
    assert "leaf L5" in page.locator('.node[aria-selected="true"]').get_attribute("aria-label")


def test_screen_readers_get_landmarks_headings_and_a_tree(opened, compared):
    page = opened(compared)
    assert page.get_by_role("main").count() == page.get_by_role("banner").count() == 1
    assert page.get_by_role("tree").count() == 1
    assert page.get_by_role("treeitem", name="Country = USA: leaf L1").count() == 1
    levels = [int(tag[1]) for tag in page.locator("h1, h2, h3, h4").evaluate_all("all => all.map((e) => e.tagName)")]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    unnamed = "all => all.filter((e) => !e.labels?.length && !e.textContent.trim()).length"
    assert page.locator("button, select, input").evaluate_all(unnamed) == 0
    assert page.locator("html").get_attribute("lang") == "en"


def test_a_forest_lets_choose_the_tree(opened, tmp_path):
    page = opened(written(tmp_path, "estimate", *forest(tmp_path)))
    assert page.locator("#canvas .node").count() == 3
    page.select_option("#which", label="Tree 2")
    assert node(page, "S = s").count() == 1
    page.select_option("#which", label="Tree 1")
    node(page, "A = b").click()
    assert page.locator("#panel h3").inner_text() == "Removed leaf"


@pytest.mark.slow
def test_thousands_of_leaves_stay_usable(opened, tmp_path):
    path = written(tmp_path, "estimate", *large(tmp_path))
    assert path.stat().st_size < 4_000_000
    page = opened(path)
    assert page.locator("#canvas .node").count() < 40
    assert "of 16,383 nodes are shown" in page.locator("#told").inner_text()
    page.click("#next")
    assert page.locator("#panel h3").inner_text().startswith("Leaf n")
    page.click("#open-all")
    assert 600 < page.locator("#canvas .node").count() < 1300
    assert sideways(page) <= 0


@pytest.mark.regression(number=20)
def test_the_banner_shows_that_no_release_may_be_published(browser, tmp_path):
    document = json.loads(Path(D1[0]).read_text(encoding="utf-8"))
    root = {"trees": [{"nodes": [{"id": "N1", "label": ">50K"}]}]}
    (tmp_path / "labels.json").write_text(json.dumps(document | root), encoding="utf-8")
    trees = [D1[0], D1[0], str(tmp_path / "labels.json")]
    path = written(tmp_path, "compare", *trees, "--qi", D1[1], "--max-certain", "0")
    page = browser.new_page()
    page.goto(path.as_uri())
    banner = page.locator(".banner")
    assert banner.is_visible()
    assert "No release may be published as it is." in banner.inner_text()
    marks = page.locator(".found .mark")
    assert [text.strip() for text in marks.all_inner_texts()] == ["Beyond:", "Cannot tell:"]
    assert len(set([marks.nth(i).evaluate("mark => getComputedStyle(mark).color") for i in range(2)])) == 2
    page.close()
