"""Releases that reports are tried on: hostile names, thousands of leaves, forests, and what is missing or wrong."""

import json

import pandas as pd

from support.documents import release_document

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "'];alert(3);//",
    "</script><script>alert(4)</script>",
    "javascript:alert(5)",
    "line\u2028separator\u2029",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;b&gt;",
    "x" * 3000,
    "\u202eesrever",
    "<!--",
    "</style><style>*{display:none}",
)


def hostile(folder):
    """A release whose every name and value tries to be markup; the adversary's table, the truth."""
    attribute, number = HOSTILE[3], "y" * 2000
    classes = [HOSTILE[0], HOSTILE[1], HOSTILE[3]]
    branches = [{"in": [value], "child": f"{value}{i}"} for i, value in enumerate(HOSTILE)]
    leaves = [{"id": f"{value}{i}", "counts": {classes[0]: 1, classes[1]: 2}} for i, value in enumerate(HOSTILE)]
    document = release_document(
        '</title><script>alert("target")</script>',
        classes,
        {attribute: list(HOSTILE), number: None},
        [{"id": HOSTILE[0], "attribute": attribute, "branches": branches}, *leaves],
    )
    rows = [(value, i, classes[min(i, 1)]) for value in HOSTILE for i in range(3)]
    return written(folder, document, {attribute: 0, number: 1}, rows, truth=document["target"]["name"])


def large(folder, depth=13):
    """A tree of 2 ** depth leaves with two people each."""
    nodes, rows = [], []

    def grow(name, low, high):
        if high - low == 1:
            nodes.append({"id": name, "counts": {"no": low % 2, "yes": 2 - low % 2}})
            rows.extend([(low,)] * 2)
            return
        middle = (low + high) // 2
        branches = [{"le": middle - 0.5, "child": name + "a"}, {"gt": middle - 0.5, "child": name + "b"}]
        nodes.append({"id": name, "attribute": "x", "branches": branches})
        grow(name + "a", low, middle)
        grow(name + "b", middle, high)

    grow("n", 0, 2**depth)
    document = release_document("answer", ["no", "yes"], {"x": None}, nodes)
    return written(folder, document, {"x": 0}, rows)


def forest(folder):
    """Two trees, one with a removed leaf and a private attribute."""
    split = {"id": "N", "attribute": "A", "branches": [{"in": ["a"], "child": "L"}, {"in": ["b"], "child": None}]}
    hidden = {"id": "N", "attribute": "S", "branches": [{"in": ["s"], "child": "P"}, {"in": ["t"], "child": "Q"}]}
    document = release_document(
        "answer",
        ["no", "yes"],
        [
            {"name": "A", "type": "categorical", "values": ["a", "b"]},
            {"name": "S", "type": "categorical", "values": ["s", "t"], "role": "private"},
        ],
        [split, {"id": "L", "counts": {"no": 2, "yes": 0}}],
        [hidden, {"id": "P", "label": "no"}, {"id": "Q"}],
    )
    return written(folder, document, {"A": 0}, [("a",), ("a",), ("b",), ("b",)])


def written(folder, document, columns, rows, truth=None):
    """The files of a release and of the people, as the command line takes them."""
    tree, qi = folder / "tree.json", folder / "qi.csv"
    tree.write_text(json.dumps(document), encoding="utf-8")
    table = pd.DataFrame({name: [row[i] for row in rows] for name, i in columns.items()})
    table.to_csv(qi, index=False)
    if truth is None:
        return [str(tree), str(qi)]
    table.assign(**{truth: [row[-1] for row in rows]}).to_csv(folder / "truth.csv", index=False)
    return [str(tree), str(qi), "--truth", str(folder / "truth.csv")]
