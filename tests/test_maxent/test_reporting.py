"""What reports say, and that everything which can be published can be reported; how they look is for the browser."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from math import log
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.calls import printed_by
from support.documents import release_document
from support.paths import ROOT
from support.reported import HOSTILE, forest, hostile, large, written
from support.small import release_and_people

import maxent
from maxent.__main__ import main
from maxent.api.audit import audit
from maxent.constraints.program.program import Contradiction
from maxent.disclosure.inference import disclosed_by_node, people_by_place
from maxent.disclosure.limits import Limits, Verdict, judge_rows
from maxent.disclosure.measures import audited, bayes_vulnerability, certain, conditional_entropy, max_posterior
from maxent.models.errors import Origin
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.results.html_report.build import MOST, Overview, overview, packed, release_view, render, rounded
from maxent.results.html_report.provenance import read_inputs, shown_command
from maxent.results.html_report.summaries import numbers, way
from maxent.results.html_report.trees import Drawing, draw, drawn_trees, opened
from maxent.results.html_report.view import Provenance, ReleaseView, ReportView, percent, shown
from maxent.results.html_report.view import rounded as overview_rounded
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


def test_units_of_entropies_are_in_an_appendix_alone(tmp_path, capsys):
    text, page = report(tmp_path, "estimate", *D1, *TRUTH1)
    appendix = page.text.index("Appendix: how it was solved, and units")
    end = page.text.index("What the adversary uses", appendix)
    assert "0.0775 nats" in page.text[appendix:end]
    assert "nats" not in page.text[:appendix] + page.text[end:]
    assert "nats" not in text[text.rindex("<script>") :]
    said = printed_by(capsys, ["estimate", *map(str, D1), *map(str, TRUTH1)]).out
    said += printed_by(capsys, ["compare", str(D1[0]), *map(str, (*D1, *TRUTH1))]).out
    assert "doubt left 53.30 %" in said
    assert "the three risks of the Article 29 Working Party (WP216)" in said
    assert "nats" not in said


def test_the_report_of_an_estimate(tmp_path):
    limits = ["--max-posterior", "0.9", "--min-k", "2", "--max-certain", "4"]
    text, page = report(tmp_path, "estimate", *D1, *TRUTH1, *limits)
    for said in ("Beyond the stated limits", "5 of 11 (45.5 %)", "75.5 %", "0.0775 nats"):
        assert said in page.text
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
        (("counts", "counts2"), "every number that was asked for is within its limit. | Within: counts, counts2"),
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
    text, page = report(tmp_path, *call, status=0 if said.startswith("every") else 4 if unknown else 3)
    assert all(part in page.text for part in said.split(" | "))
    assert "--max-certain 0 --enforce --report " in re.search(r'aria-label="Command"><code>(.*?)</code>', text)[1]


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
    _, page = report(tmp_path, "estimate", *records(tmp_path))
    assert "Rows in groups of one class" in page.text
    assert "people in leaves" not in page.text.lower()
    assert "whoever knows that a person is there" not in page.text
    assert "Each box is a group of rows that are alike: the people who may get there" in page.text
    assert "Who may get there" in page.text
    assert "counted in each of them. Choose one" in page.text


def test_rows_of_records_are_not_compared_with_people_in_leaves(tmp_path):
    *files, _, _ = records(tmp_path)
    document = release_document("T", ["x", "y"], {"A": None}, [{"id": "L", "counts": {"x": 8, "y": 4}}])
    (tmp_path / "tree.json").write_text(json.dumps(document), encoding="utf-8")
    _, page = report(tmp_path, "compare", str(tmp_path / "tree.json"), files[0], "--qi", files[1])
    assert "People in leaves of a single class less is better" in page.text
    assert "Rows in groups of one class less is better" in page.text
    assert page.text.count("not measured") == 2


def records(folder):
    """Generalised records of twelve people."""
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
    for said in ("removed leaf", "Tree 2", "the people who may get there"):
        assert said in page.text
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
    found = replace(view(*D1), trees=())
    verdict: Verdict = judge_rows(Limits(), [found.row])
    text = render(ReportView("t", "", verdict, (found,), False, (), Provenance("now", "maxent", (), (), ())))
    assert "Who is most exposed" in Page(text).text
    assert 'href="#tree"' not in text
    assert 'id="tree"' not in text


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
    given = {"truth": "my data.csv", "presolve": False, "seed": 0, "bounds": "linear", "max_certain": 3}
    expected = "maxent estimate t.json q.csv --truth 'my data.csv' --no-presolve --seed 0 "
    expected += "--bounds --level linear --max-certain 3"
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


@pytest.fixture
def many(tmp_path):
    """1,234,567 people in two leaves, the posterior of one of which is 0.1 + 0.2 or so."""
    leaves = [{"id": "L0", "counts": {"a": 234567, "b": 0}}, {"id": "L1", "counts": {"a": 700000, "b": 300000}}]
    branches = [{"in": ["u"], "child": "L0"}, {"in": ["v"], "child": "L1"}]
    document = release_document(
        "Secret", ["a", "b"], {"A": ["u", "v"]}, [{"id": "N", "attribute": "A", "branches": branches}, *leaves]
    )
    (tmp_path / "tree.json").write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "qi.csv").write_text("A,n\nu,234567\nv,1000000\n", encoding="utf-8")
    return [str(tmp_path / "tree.json"), str(tmp_path / "qi.csv")]


@pytest.mark.regression(number=20)
def test_texts_and_reports_have_commas_and_three_decimals(many, tmp_path, capsys):
    tree, qi = many
    report, limits = str(tmp_path / "out.html"), ["--max-certain", "200000", "--max-posterior", "0.30000000000000004"]
    for call in (["estimate", tree, qi], ["compare", tree, "--qi", qi], ["audit", tree, qi]):
        more = [] if call[0] == "audit" else ["--report", report, *limits]
        printed = printed_by(capsys, [*call, "--count", "n", *more]).out
        assert "234,567" in printed
        assert not re.search(r"\d\.\d{9}|\de\+0[1-9]", printed), printed
        if more:
            text = Path(report).read_text(encoding="utf-8")
            for part in ("<script.*?</script>", "<style.*?</style>", "<svg.*?</svg>", "<section id=.provenance.*"):
                text = re.sub(part, "", text, flags=re.DOTALL)
            for said in ("234,567", "at most 200,000", "at most 0.3<"):
                assert said in text
            assert not re.search(r"\d\.\d{9}", text)


def test_a_contradiction_is_in_whole_people():
    assert str(Contradiction(Origin("leaf", "L"), "n", 1234567.0)).endswith("(off by 1,234,567 individuals)")
    assert str(Contradiction(Origin("leaf", "L"), "n", 0.25)).endswith("(off by 0.25 individuals)")


def steps(cuts: list[float], last: dict[str, int] | None = None) -> Release:
    """A tree that cuts numbers off, in turn from below and from above: the end is between the last two cuts."""
    nodes = []
    for i, cut in enumerate(cuts):
        on, off = (f"n{i + 1}" if i + 1 < len(cuts) else "end"), f"l{i}"
        low, high = (on, off) if i % 2 else (off, on)
        nodes.append(Node(f"n{i}", "age", (Branch(low, le=cut), Branch(high, gt=cut))))
    nodes += [Node(f"l{i}", counts={"x": 1, "y": 1}) for i in range(len(cuts))]
    nodes.append(Node("end", counts=last or {"x": 1, "y": 1}))
    return Release(Target("T", ("x", "y")), (Attribute("age", "numeric"),), (Tree(tuple(nodes)),))


SIX = [0.5, 6, 1.5, 5, 2.5, 4]
AGES = [0, 1, 2, 3, 4.5, 5.5, 9]


def _stacks(whole: Overview) -> list[tuple[int, dict[str, float]]]:
    """Columns with more than one shade, and the shares of their heights."""
    found: dict[int, dict[str, float]] = {}
    for name, boxes in whole.shaded:
        for x, high in re.findall(r"M(\d+) [\d.]+h1v([\d.]+)", boxes):
            found.setdefault(int(x), {})[name] = float(high)
    several = {x: parts for x, parts in found.items() if len(parts) > 1}
    return [(x, {n: high / sum(parts.values()) for n, high in parts.items()}) for x, parts in several.items()]


def overview_view(release: Release, ages: list[float]) -> ReleaseView:
    found = maxent.estimate(release, pd.DataFrame({"age": [age for age in ages for _ in range(2)]}))
    return release_view(found, found.numbers)


def test_a_way_has_one_condition_for_each_attribute() -> None:
    [tree] = overview_view(steps([0.5, 4, 1.5, 3]), [0, 1, 2, 3.5, 6]).trees
    end = next(i for i, node in enumerate(tree.nodes) if node.name == "end")
    assert way(tree, end) == "1.5 < age <= 3"
    assert (tree.nodes[end].condition, tree.nodes[end].title) == ("1.5 < age <= 3", "age <= 3")
    assert way(tree, 0) == "everybody"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (37.5, "37.5"),
        (37.0, "37"),
        (-1234567.25, "-1234567.25"),
        (24.500000953674316, "24.5"),
        (-24.512345678, "-24.5123"),
        (1234567.123456, "1234567.1"),
        (0.1 + 0.2, "0.3"),
        (0.000123456789, "0.000123457"),
        (1e-9, "1e-09"),
    ],
)
def test_ends_of_intervals_are_rounded(value: float, text: str) -> None:
    assert overview_rounded(value) == text


def test_ends_that_would_be_rounded_to_the_same_are_written_in_full() -> None:
    found = overview_view(steps([1.0000000001, 1.0000000002]), [0, 1.00000000015, 2])
    assert "1.0000000001 < age <= 1.0000000002" in {node.condition for node in found.trees[0].nodes}


def test_every_leaf_is_a_column() -> None:
    found = overview_view(steps(SIX), AGES)
    whole = overview(found.trees[0], found.baseline)
    assert (whole.width, whole.leaves, whole.merged) == (7, 7, 0)
    assert [found.trees[0].nodes[place].name for place in whole.columns][3] == "end"
    boxes = re.findall(r"M(\d+) ([\d.]+)h1v([\d.]+)h-1z", "".join(boxes for _, boxes in whole.shaded))
    assert sorted(int(x) for x, _, _ in boxes) == list(range(7))
    assert all(float(y) + float(high) == pytest.approx(whole.height, abs=1e-3) for _, y, high in boxes)
    assert whole.inner.count("M") == 6


def test_of_a_large_tree_the_parts_with_few_people_are_merged() -> None:
    found = overview_view(steps(SIX), AGES)
    whole = overview(found.trees[0], found.baseline, most=4)
    assert (whole.width, whole.leaves, whole.merged) == (4, 7, 1)
    mixed = overview_view(steps(SIX, last={"x": 2, "y": 0}), AGES)
    [(x, parts)] = _stacks(overview(mixed.trees[0], mixed.baseline, most=4))
    assert x == 2
    assert parts == {"s0": pytest.approx(6 / 8), "s4": pytest.approx(2 / 8)}
    assert MOST >= 100


def test_the_report_has_the_whole_tree(tmp_path: Path) -> None:
    maxent.estimate(steps(SIX), pd.DataFrame({"age": AGES * 2})).report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    figure = text.split('<figure class="overview">')[1].split("</figure>")[0]
    assert "The whole tree: every column is a leaf" in figure
    assert "7 leaves." in figure
    assert len(figure.split('data-places="')[1].split('"')[0].split()) == 7


def assert_as_defined(result, tree=0):
    program, cells = result.program, result.program.cells.trees[tree]
    found = disclosed_by_node(result, tree)
    people = people_by_place(program, tree)
    assert [node.place for node in found] == list(range(len(cells.start)))
    for node in found:
        rows = np.unique(program.cells.owner[cells.at(node.place)])
        assert sorted(people.at(node.place)) == rows.tolist()
        p, counts = result.probabilities[rows], program.table.counts[rows]
        assert node.individuals == counts.sum()
        if not len(rows):
            assert node.certain == 0
            assert {node.max_posterior, node.vulnerability, node.entropy, node.divergence} == {None}
            continue
        assert node.certain == certain(p, counts)
        assert node.max_posterior == max_posterior(p)
        assert node.vulnerability == pytest.approx(bayes_vulnerability(p, counts))
        assert node.entropy == pytest.approx(conditional_entropy(p, counts))
        if result.disclosure.individual is None:
            assert node.divergence is None
        else:
            assert node.divergence == pytest.approx(counts @ result.disclosure.individual[rows] / counts.sum())
    return found


def test_every_node_of_a_tree():
    for seed in range(3):
        release, people = release_and_people("entropy", seed)
        result = maxent.estimate(release, people[["A", "B", "C"]], people)
        found = assert_as_defined(result)
        assert found[0].individuals == len(people)
        assert found[0].entropy == pytest.approx(result.disclosure.entropy)
        assert [node.id for node in found] == [node.id for node in release.trees[0].nodes]


def test_leaves_that_nobody_is_in_say_nothing():
    release, people = release_and_people("gini", 0)
    result = maxent.estimate(release, people.iloc[:1][["A", "B", "C"]], knowledge="label")
    assert sum(node.individuals == 0 for node in assert_as_defined(result)) >= 2


def test_infinite_divergences_stay_in_their_branch():
    release, people = release_and_people("gini", 1, publish="counts")
    wrong = people.assign(X=np.where(people["X"] == "a", "b", "a"))
    result = maxent.estimate(release, people[["A", "B", "C"]], wrong)
    assert_as_defined(result)
    assert np.isinf(disclosed_by_node(result)[0].divergence)


def test_removed_leaves_and_private_attributes(tmp_path):
    result = maxent.estimate(*forest(tmp_path))
    first, second = assert_as_defined(result, 0), assert_as_defined(result, 1)
    assert [(node.id, node.individuals) for node in first] == [("N", 4), ("L", 2), (None, 2)]
    assert [(node.id, node.individuals) for node in second] == [("N", 4), ("P", 4), ("Q", 4)]
    with pytest.raises(IndexError):
        disclosed_by_node(result, 2)
