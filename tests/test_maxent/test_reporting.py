"""What reports say, and that everything which can be published can be reported; how they look is for the browser."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from math import log
from pathlib import Path

import pytest
from support.documents import release_document
from support.paths import ROOT
from support.reported import HOSTILE, forest, hostile, large, written

import maxent
from maxent.__main__ import main
from maxent.api.audit import audit
from maxent.disclosure.limits import Limits, judge_rows
from maxent.disclosure.registry import audited
from maxent.results.html_report.build import packed, release_view, rounded
from maxent.results.html_report.provenance import read_inputs, shown_command
from maxent.results.html_report.summaries import numbers
from maxent.results.html_report.trees import Drawing, draw, drawn_trees, opened
from maxent.results.html_report.view import percent, shown
from maxent.results.solved import estimate_numbers

D1 = [str(ROOT / "examples/d1" / name) for name in ("tree.json", "qi.csv")]
TRUTH1 = ["--truth", str(ROOT / "examples/d1/truth.csv")]
ROOT1 = {"<=50K": 5, ">50K": 6}
VOID = {"meta", "link", "br", "input", "path", "rect", "circle"}


class Page(HTMLParser):
    """The elements, attributes and text of a page, and whether every element that is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.texts.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def report(tmp_path, *call, status=0, name="out.html"):
    assert main([*call, "--report", str(tmp_path / name)]) == status
    text = (tmp_path / name).read_text(encoding="utf-8")
    return text, Page(text)


def data(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def view(*arguments, **options):
    result = maxent.estimate(*arguments, **options)
    row = {"release": "r", "defense": None, **estimate_numbers(result), **audited(audit(*arguments))}
    return release_view(result, row)


def test_the_report_of_an_estimate(tmp_path):
    limits = ["--max-posterior", "0.9", "--min-k", "2", "--max-certain", "4"]
    text, page = report(tmp_path, "estimate", *D1, *TRUTH1, *limits)
    assert "Beyond the stated limits" in page.text
    assert "5 of 11 (45.5 %)" in page.text
    assert "75.5 %" in page.text
    assert "0.0775 nats" in page.text
    assert "Country chosen over Gender (entropy)" in page.text  # for who has no script
    assert f"maxent {maxent.__version__}" in page.text
    assert "0.9" in page.text
    for file in (*D1, TRUTH1[1]):
        [found] = read_inputs([("x", file)])
        assert found.sha256 in text
        assert file in page.text
    assert [attributes["id"] for attributes in page.all("section")] == [
        *("verdict", "glance", "figures", "tree", "people", "worth", "provenance")
    ]
    assert len(page.all("h1")) == 1
    assert all("caption" in table for table in re.findall(r"<table.*?</table>", text, re.DOTALL))


def test_it_is_one_file_that_asks_for_nothing(tmp_path):
    text, page = report(tmp_path, "estimate", *D1)
    assert not [a for _, a in page.elements if {"src", "style", "onclick", "onload", "action"} & a.keys()]
    assert {a["href"][0] for a in page.all("a")} == {"#"}
    assert [a["href"] for a in page.all("link")] == ["data:,"]
    [policy] = [a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "http:" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https:" not in text


def test_the_same_input_makes_the_same_report(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    texts = [report(tmp_path, "estimate", *D1)[0] for _ in range(2)]
    stable = [re.sub(r"<td>compile [^<]*</td>", "", text) for text in texts]
    assert stable[0] == stable[1]
    assert "1970-01-01 00:00:00 UTC" in texts[0]


def test_before_and_after(tmp_path):
    before = json.loads(Path(D1[0]).read_text(encoding="utf-8"))
    nodes = before["trees"][0]["nodes"]
    removed = {"N2", "N3", "N4", "L1", "L2", "L3", "L4", "L5"}
    (tmp_path / "after.json").write_text(
        json.dumps(before | {"trees": [{"nodes": [{"id": "N1", "counts": ROOT1}]}]}), encoding="utf-8"
    )
    assert {node["id"] for node in nodes} == removed | {"N1"}
    call = ["compare", D1[0], str(tmp_path / "after.json"), "--qi", D1[1], *TRUTH1, "--test", TRUTH1[1]]
    text, page = report(tmp_path, *call, "--max-certain", "0")
    assert "Within the stated limits" in page.text
    assert "compared with only" in page.text
    assert "the class of 5 fewer people is certain; " in page.text
    assert "less accurate on test data" in page.text
    assert "\N{MINUS SIGN}5 better" in page.text
    assert [one["name"] for one in data(text)["releases"]] == ["tree", "after"]


@pytest.mark.parametrize(
    ("releases", "said"),
    [
        (("tree", "counts"), "Not every release may be published as it is. Beyond: tree Within: counts "),
        (("tree", "label"), "No release may be published as it is. Beyond: tree Cannot tell: label "),
        (("label", "label2"), "No release may be published as it is. Cannot tell: label, label2 "),
        (("tree",), "As it is, this release discloses more than it may."),
        (("label",), "not bounded by the numbers that are published; this is no permission to publish."),
        (("counts", "counts2"), "Every number that was asked for is within its limit. Within: counts, counts2"),
    ],
)
@pytest.mark.regression(number=20)
def test_the_banner_says_what_may_be_published(tmp_path, releases, said):
    tree = json.loads(Path(D1[0]).read_text(encoding="utf-8"))
    roots = {"label": {"label": ">50K", "n": 11}, "counts": {"counts": ROOT1}}
    files = []
    for name in ("before", *releases):
        root = roots.get(name.rstrip("2"))
        document = tree if root is None else tree | {"trees": [{"nodes": [{"id": "N1", **root}]}]}
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps(document), encoding="utf-8")
    call = ["compare", *map(str, files), "--qi", D1[1], "--max-certain", "0", "--enforce"]
    unknown = "Beyond" not in said and "more than it may" not in said
    text, page = report(tmp_path, *call, status=0 if said.startswith("Every") else 4 if unknown else 3)
    assert said in page.text
    found = re.search(r'aria-label="Command"><code>(.*?)</code>', text)[1]
    assert "--max-certain 0 --enforce --report " in found


def test_a_class_that_a_group_proves_is_certain(tmp_path):
    _, page = report(tmp_path, "estimate", *lone(tmp_path))
    assert "1 of 4 (25.0 %)" in page.text
    assert "by what their leaf or group proves; 0 by the estimate" in page.text
    assert "Here, by what their leaf or group proves; the estimate has 0.500." in page.text
    _, page = report(tmp_path, "estimate", *D1)
    assert "5 of 11 (45.5 %)" in page.text
    assert "by what their leaf" not in page.text


def lone(folder):
    """A leaf of one person and a label: the estimate, which knows shares and no whole people, is in doubt."""
    split = {"id": "r", "attribute": "A", "branches": [{"in": ["a"], "child": "p"}, {"in": ["b"], "child": "q"}]}
    document = release_document(
        "T",
        ["x", "y"],
        {"A": ["a", "b"]},
        [split, {"id": "p", "label": "y", "n": 1}, {"id": "q", "label": "x", "n": 3}],
    )
    return written(folder, document, {"A": 0}, [("a",), ("b",), ("b",), ("b",)])


@pytest.mark.parametrize(
    ("way", "right", "text"),
    [
        ("estimate", None, "60.0 % by the estimate"),
        ("base", 0.7, "70.0 % by the base rate"),
        ("predicted", 0.7, "70.0 % as predicted"),
    ],
)
def test_right_guesses_are_those_of_who_guesses_best(way, right, text):
    # Accuracy on all attributes, private ones too, is none of an adversary's guesses.
    row = {**estimate_numbers(maxent.estimate(*D1)), "bayes_vulnerability": 0.6}
    row |= {} if right is None else {"right_guesses": right, "train_accuracy": 0.9}
    found = next(measure for measure in numbers(row, "T", 2, None, way) if measure.key == "bayes_vulnerability")
    assert (found.value, found.text) == (right or 0.6, text)
    assert ("known only with the truth" in found.says) == (right is None)


def test_the_surest_come_first_and_those_the_estimate_is_wrong_about_last(tmp_path):
    truth = tmp_path / "truth.csv"
    truth.write_text(
        Path(TRUTH1[1]).read_text(encoding="utf-8").replace("Canada,Male,<=50K", "Canada,Male,>50K"), encoding="utf-8"
    )
    found = release(D1, str(truth)).exposed
    right = [person.divergence < log(2) for person in found]
    assert right == sorted(right, reverse=True)
    assert not all(right)
    for part in (True, False):
        surest = [person.probability for person, is_right in zip(found, right, strict=True) if is_right == part]
        assert surest == sorted(surest, reverse=True)
    surest = [person.probability for person in release(D1).exposed]
    assert surest == sorted(surest, reverse=True)


def release(files, truth=None):
    result = maxent.estimate(*files, truth)
    return release_view(result, {"release": "r", "defense": None, **estimate_numbers(result)})


def test_of_records_rows_are_counted_and_people_may_be_there(tmp_path):
    files = records(tmp_path)
    _, page = report(tmp_path, "estimate", *files)
    assert "Rows in groups of one class" in page.text
    assert "people in leaves" not in page.text.lower()
    assert "whoever knows that a person is there" not in page.text
    assert "Each box is a group of rows that are alike: the people who may get there" in page.text
    assert "Who may get there" in page.text
    assert "counted in each of them. Choose one" in page.text


def test_rows_of_records_are_not_compared_with_people_in_leaves(tmp_path):
    *files, _, _ = records(tmp_path)
    nodes = [{"id": "L", "counts": {"x": 8, "y": 4}}]
    document = release_document("T", ["x", "y"], {"A": None}, nodes)
    (tmp_path / "tree.json").write_text(json.dumps(document), encoding="utf-8")
    _, page = report(tmp_path, "compare", str(tmp_path / "tree.json"), files[0], "--qi", files[1])
    assert "People in leaves of a single class less is better" in page.text
    assert "Rows in groups of one class less is better" in page.text
    assert page.text.count("not measured") == 2


def records(folder):
    """Generalised records of twelve people."""
    import pandas as pd

    people = pd.DataFrame({"A": range(12), "T": ["x", "y", "x"] * 4})
    people.to_csv(folder / "truth.csv", index=False)
    people[["A"]].to_csv(folder / "qi.csv", index=False)
    call = ["defend", "erp", "truth.csv", "--target", "T", "--qi", "A", "--k", "3", "--publish", "records"]
    call[2] = str(folder / "truth.csv")
    assert main([*call, "-o", str(folder / "records.csv")]) == 0
    return [str(folder / "records.csv"), str(folder / "qi.csv"), "--target", "T"]


def test_hostile_names_are_text(tmp_path):
    text, page = report(tmp_path, "estimate", *hostile(tmp_path))
    assert len(page.all("script")) == 2
    assert not page.all("img")
    assert len(re.findall("<script", text)) == len(re.findall("</script", text)) == 2
    assert len(re.findall("</style", text)) == 1
    assert "<!--" not in text
    assert not set("\u2028\u2029\u202e") & set(text)
    texts = data(text)["releases"][0]["texts"]
    assert {"javascript:alert(5)", "</script><script>alert(4)</script>3"} <= set(texts)
    assert max(map(len, texts)) <= 160
    for value in HOSTILE:
        assert shown(value) in page.text.replace("  ", " ")


def contradictory(folder):
    document = json.loads(Path(D1[0]).read_text(encoding="utf-8"))
    next(node for node in document["trees"][0]["nodes"] if node["id"] == "L1")["n"] = 3
    (folder / "tree.json").write_text(json.dumps(document), encoding="utf-8")
    return [str(folder / "tree.json"), D1[1]]


def test_an_answer_that_is_not_to_be_relied_on_is_marked(tmp_path):
    _, page = report(tmp_path, "estimate", *contradictory(tmp_path), "--max-posterior", "1", status=1)
    assert "Do not rely on the numbers of tree." in page.text
    assert "Cannot tell: not known to be within the stated limits" in page.text
    assert "largest posterior" in page.text.lower()
    assert "cannot tell as the estimate is not to be relied on" in page.text
    assert "leaf L1: 3 records, but 2 individuals of the table reach it" in page.text


def test_forests_removed_leaves_and_private_attributes(tmp_path):
    text, page = report(tmp_path, "estimate", *forest(tmp_path))
    trees = data(text)["releases"][0]["trees"]
    assert [tree["name"] for tree in trees] == ["Tree 1", "Tree 2"]
    assert trees[0]["kind"] == [1, 0, 2]
    assert "removed leaf" in page.text
    assert "Tree 2" in page.text
    assert "the people who may get there" in page.text
    assert data(text)["releases"][0]["uncertain"]
    assert not data(report(tmp_path, "estimate", *D1)[0])["releases"][0]["uncertain"]


def test_a_release_that_states_nothing(tmp_path):
    document = release_document("T", ["only"], {"A": ["a", "b"]}, [{"id": "root"}])
    _, page = report(tmp_path, "estimate", *written(tmp_path, document, {"A": 0}, [("a",)]))
    assert "No limits were stated" in page.text
    assert "1 of 1 (100 %)" in page.text  # there is one class only


def test_an_infinite_divergence_is_said(tmp_path):
    truth = Path(TRUTH1[1]).read_text(encoding="utf-8").replace("Canada,Male,<=50K", "Canada,Male,>50K", 1)
    (tmp_path / "truth.csv").write_text(truth, encoding="utf-8")
    text, page = report(tmp_path, "estimate", *D1, "--truth", str(tmp_path / "truth.csv"))
    assert "infinite for 1 quasi-identifier" in page.text
    assert "inf" in data(text)["releases"][0]["trees"][0]["divergence"]


def test_a_release_without_a_tree_can_be_reported():
    from maxent.disclosure.limits import Verdict
    from maxent.results.html_report.build import render
    from maxent.results.html_report.view import Provenance, ReportView

    found = replace(view(*D1), trees=())
    verdict: Verdict = judge_rows(Limits(), [found.row])
    page = Page(render(ReportView("t", "", verdict, (found,), False, (), Provenance("now", "maxent", (), (), ()))))
    assert "No tree is published" in page.text


def test_every_node_says_what_it_tells_who_is_there_and_what_follows():
    found = view(*D1)
    [tree] = found.trees
    leaf = next(node for node in tree.nodes if node.name == "L1")
    assert leaf.condition == "Country = USA"
    assert leaf.stated == ("most frequent class: >50K", "error rate: 0.5", "2 records")
    assert [said.kind for said in leaf.constraints] == ["label", "rate"]
    assert {dict(found.people[i].values)["Gender"] for i in leaf.people} == {"Male", "Female"}
    root = tree.nodes[0]
    assert root.stated[0] == "a split by Education into 2 branches"
    assert [said.says for said in root.constraints] == [
        "Education chosen over Country (entropy)",
        "Education chosen over Gender (entropy)",
    ]
    assert sum(root.distribution) == pytest.approx(1)


def test_a_large_tree_starts_nearly_closed_and_stays_small(tmp_path):
    found = view(*large(tmp_path, depth=9))
    [tree] = found.trees
    drawing: Drawing = draw(tree, found.baseline)
    assert len(tree.nodes) == 1023
    assert 0 in opened(tree)
    assert len(drawing.cards) <= 30
    assert sum(card.hidden + 1 for card in drawing.cards) == 1023
    assert len(packed([found])) < 250 * len(tree.nodes)


def test_trees_beyond_the_budget_are_counted(tmp_path):
    result = maxent.estimate(*forest(tmp_path))
    assert [drawn_trees(result, budget) for budget in (0, 2, 4, 5, 100)] == [1, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("share", "text"),
    [
        *((0.0, "0 %"), (1.0, "100 %"), (0.62, "62.0 %"), (0.1234, "12.3 %")),
        *((0.99999, "99.9 %"), (0.00001, "0.1 %"), (1 - 1e-9, "100 %"), (1e-9, "0 %")),
    ],
)
def test_only_certainty_is_100_percent(share, text):
    assert percent(share) == text
    assert rounded(share) == pytest.approx(share, abs=1e-4)
    assert (rounded(share) == 1) == (text == "100 %")
    assert (rounded(share) == 0) == (text == "0 %")


def test_the_command_can_be_made_again():
    given = {"truth": "my data.csv", "presolve": False, "seed": 0, "max_certain": 3}
    expected = "maxent estimate t.json q.csv --truth 'my data.csv' --no-presolve --seed 0 --max-certain 3"
    assert shown_command(["estimate", "t.json", "q.csv"], given) == expected


def test_colours_can_be_read_and_told_apart_without_colour():
    css = (ROOT / "maxent/results/html_report/templates/report.css").read_text(encoding="utf-8")
    for block in re.findall(r":root \{(.*?)\}", css, re.DOTALL)[:2]:
        colour = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
        pairs = [(f"t{i}", f"s{i}") for i in range(5)] + [("muted", "nobody")]
        for ground in ("paper", "card", "tint"):
            pairs += [(name, ground) for name in ("ink", "muted", "accent")]
        pairs += [(name, f"{name}-tint") for name in ("pass", "fail", "cannot-tell")]
        pairs += [(name, ground) for name in ("pass", "fail", "cannot-tell") for ground in ("paper", "card")]
        for text, ground in pairs:
            assert contrast(colour[text], colour[ground]) >= 4.5, (text, ground)
        steps = [luminance(colour[f"s{i}"]) for i in range(5)]
        assert steps in (sorted(steps), sorted(steps, reverse=True))
        assert all(contrast(colour[f"s{i}"], colour[f"s{i + 1}"]) > 1.15 for i in range(4))


def luminance(colour):
    """Relative luminance (WCAG 2.2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first, second):
    """Contrast ratio (WCAG 2.2)."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)
