"""A release as PMML 4.4, which other programs predict with.

Leaves state what PMML has words for: label, records, shares and counts of classes, means. The release itself stands in
an extension that other programs skip: read back by maxent it is what it was, private attributes and induction included,
but for who was drawn for each tree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import unescape
from math import inf, isfinite
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from maxent.models.columns import positive_counts
from maxent.models.errors import invalid
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.formats.writers.rules import WantedForm, Writer
from maxent.models.release import Attribute, Boosting, Branch, Node, Release, Tree
from maxent.models.tables.cells import MISSING, OTHER
from maxent.models.trees.places import number_places
from maxent.models.trees.predict import numbers_of, predicts_numbers, shares_of, terms_of

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">\n'
_OWN = '    <Extension extender="maxent" name="maxent/1" value="'

# A character that no XML document can have
_NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")

# Rules by which trees answer together, as PMML calls them
_TOGETHER = {"vote": "weightedMajorityVote", "mean": "weightedAverage"}


def write_pmml(release: Release, wanted: WantedForm) -> str:
    """A TreeModel, or a MiningModel of several trees."""
    del wanted
    text = _HEAD + "\n".join(_document(release)) + "\n</PMML>\n"
    if (found := _NOT_XML.search(text)) is not None:
        expected = "names without control characters, which XML cannot hold"
        raise invalid("export", "release", "names", expected, repr(found.group()))
    return text


def own_release(content: bytes, source: str) -> Release | None:
    """The release in a document that `write_pmml` wrote and nobody changed since; else None."""
    if not content.startswith(_HEAD.encode()) or _OWN.encode() not in content:
        return None
    text = content.decode("utf-8", "replace")
    start = text.find(_OWN)
    found = text[start + len(_OWN) : text.find('"', start + len(_OWN))]
    try:
        release = parse_release(json.loads(unescape(found)), source)
        return release if write_pmml(release, WantedForm()) == text else None
    except ValueError:
        return None


def _document(release: Release) -> Iterator[str]:
    stated = json.dumps(release_to_document(replace(release, draws=None)), ensure_ascii=True, separators=(",", ":"))
    yield "  <Header>"
    yield _OWN + escape(stated, {'"': "&quot;", "\n": "&#10;"}) + '"/>'
    yield '    <Application name="maxent"/>\n  </Header>'
    tested = {node.attribute for tree in release.trees for node in tree.nodes}
    attributes = [attribute for attribute in release.attributes if attribute.name in tested]
    yield "  <DataDictionary>"
    for attribute in attributes:
        yield from _field(attribute.name, None if attribute.values is None else _named(attribute.values))
    yield from _field(release.target.name, None if predicts_numbers(release) else release.target.classes)
    yield "  </DataDictionary>"
    schema = _schema(release, attributes)
    if release.predicts == "score":
        yield from _boosted(release, schema)
    elif len(release.trees) == 1:
        function = "regression" if predicts_numbers(release) else "classification"
        yield from _tree(release, release.trees[0], schema, function)
    else:
        yield from _ensemble(release, schema)


def _field(name: str, values: Sequence[str] | None) -> Iterator[str]:
    if values is None:
        yield f'    <DataField name={quoteattr(name)} optype="continuous" dataType="double"/>'
        return
    yield f'    <DataField name={quoteattr(name)} optype="categorical" dataType="string">'
    yield from (f"      <Value value={quoteattr(value)}/>" for value in values)
    yield "    </DataField>"


def _named(values: Sequence[str]) -> list[str]:
    return [value for value in values if value not in (MISSING, OTHER)]


def _schema(release: Release, attributes: Sequence[Attribute]) -> list[str]:
    target = [f'<MiningField name={quoteattr(release.target.name)} usageType="target"/>']
    fields = [f'<MiningField name={quoteattr(a.name)} invalidValueTreatment="asIs"/>' for a in attributes]
    return ["<MiningSchema>", *(f"  {line}" for line in target + fields), "</MiningSchema>"]


def _ensemble(release: Release, schema: Sequence[str]) -> Iterator[str]:
    """Trees that answer together."""
    numeric = predicts_numbers(release)
    method = "weightedAverage" if numeric else _TOGETHER.get(release.predicts or "")
    if method is None:
        expected = "vote, mean or score of several trees: PMML has no sum of counts"
        raise invalid("export", "release", "predicts", expected, "the sum of the counts")
    function = "regression" if numeric else "classification"
    yield f'  <MiningModel functionName="{function}">'
    yield from _indented(schema, 4)
    yield f'    <Segmentation multipleModelMethod="{method}">'
    for number, tree in enumerate(release.trees, 1):
        yield f'      <Segment id="{number}" weight="{_number(tree.weight)}">\n        <True/>'
        yield from _indented(_tree(release, tree, schema, function), 6)
        yield "      </Segment>"
    yield "    </Segmentation>\n  </MiningModel>"


def _boosted(release: Release, schema: Sequence[str]) -> Iterator[str]:
    """A chain: sums of scores of each class that trees add to, then the link."""
    boosting = release.boosting or Boosting("none")
    classes = release.target.classes
    named = {tree.of_class for tree in release.trees}
    if boosting.link == "share" or None in named:
        expected = "scores of one class in each tree, under the link logit, softmax or none"
        found = f"the link {boosting.link}" if boosting.link == "share" else "values of several classes"
        raise invalid("export", "release", "boosting", expected, found)
    inputs = [line for line in schema if 'usageType="target"' not in line]
    yield '  <MiningModel functionName="classification">'
    yield from _indented(schema, 4)
    yield '    <Segmentation multipleModelMethod="modelChain">'
    summed = classes if boosting.link != "logit" else [c for c in classes if c in named]
    for x, label in enumerate(summed):
        base = boosting.base.get(label, 0.0) if isinstance(boosting.base, Mapping) else boosting.base
        trees = [tree for tree in release.trees if tree.of_class == label]
        base = base if len(named) > 1 or label in named else 0.0
        yield f'      <Segment id="{x + 1}">\n        <True/>\n        <MiningModel functionName="regression">'
        yield from _indented(inputs, 10)
        yield "          <Output>"
        field = f'name="score {x + 1}" optype="continuous" dataType="double"'
        yield f'            <OutputField {field} feature="predictedValue"/>'
        yield f'          </Output>\n          <Targets>\n            <Target rescaleConstant="{_number(base)}"/>'
        yield '          </Targets>\n          <Segmentation multipleModelMethod="sum">'
        for number, tree in enumerate(trees or [_NOTHING], 1):
            yield f'            <Segment id="{number}">\n              <True/>'
            yield from _indented(_tree(release, tree, inputs, "regression"), 12)
            yield "            </Segment>"
        yield "          </Segmentation>\n        </MiningModel>\n      </Segment>"
    yield from _link(release, boosting, summed)
    yield "    </Segmentation>\n  </MiningModel>"


_NOTHING = Tree((Node("nothing", value=0.0),))


def _link(release: Release, boosting: Boosting, summed: Sequence[str]) -> Iterator[str]:
    """The last model of a chain: from scores to classes."""
    target = quoteattr(release.target.name)
    yield f'      <Segment id="{len(summed) + 1}">\n        <True/>'
    yield f'        <RegressionModel functionName="classification" normalizationMethod="{_METHODS[boosting.link]}">'
    yield f'          <MiningSchema>\n            <MiningField name={target} usageType="target"/>'
    yield from (f'            <MiningField name="score {x + 1}"/>' for x in range(len(summed)))
    yield "          </MiningSchema>"
    others = [label for label in release.target.classes if label not in summed]
    for x, label in enumerate(summed):
        yield f'          <RegressionTable targetCategory={quoteattr(label)} intercept="0">'
        yield f'            <NumericPredictor name="score {x + 1}" coefficient="1"/>\n          </RegressionTable>'
    yield from (f'          <RegressionTable targetCategory={quoteattr(label)} intercept="0"/>' for label in others)
    yield "        </RegressionModel>\n      </Segment>"


_METHODS = {"logit": "logit", "softmax": "softmax", "none": "none"}


def _tree(release: Release, tree: Tree, schema: Sequence[str], function: str) -> Iterator[str]:
    """A tree; records that no branch takes have the answer of the node where they are."""
    missing = any(MISSING in (a.values or ()) or a.missing for a in release.attributes)
    strategy = "none" if missing else "nullPrediction"
    yield f'  <TreeModel functionName="{function}" missingValueStrategy="{strategy}"'
    yield '      noTrueChildStrategy="returnLastPrediction" splitCharacteristic="multiSplit">'
    yield from _indented(schema, 4)
    places = number_places(tree)
    scores = _scores(release, tree)
    attributes = {attribute.name: attribute for attribute in release.attributes}
    told = {0: "<True/>"}
    stack: list[int | None] = [0]
    depth = 4
    while stack:
        place = stack.pop()
        if place is None:
            depth -= 2
            yield " " * depth + "</Node>"
            continue
        node = tree.nodes[place]
        records = "" if node.n is None else f' recordCount="{node.n}"'
        if node.n is None and node.counts is not None:
            records = f' recordCount="{sum(positive_counts(node.counts).values())}"'
        blank = " " * depth
        yield f"{blank}<Node id={quoteattr(node.id)} score={quoteattr(scores[place])}{records}>"
        yield f"{blank}  {told.pop(place)}"
        if function == "classification":
            yield from (f"{blank}  {line}" for line in _distribution(node))
        depth += 2
        stack.append(None)
        for child, branch in reversed(list(zip(places.children[place], node.branches, strict=True))):
            if child < places.n_nodes:
                told[child] = _predicate(attributes[node.attribute or ""], branch)
                stack.append(child)
    yield "  </TreeModel>"


def _scores(release: Release, tree: Tree) -> list[str]:
    """What each place of a tree answers with."""
    if release.predicts == "score":
        return [_number(node.value if isinstance(node.value, float) else 0.0) for node in tree.nodes]
    if predicts_numbers(release):
        return [_number(number) for number in numbers_of(tree).tolist()]
    (terms,) = terms_of(Release(release.target, release.attributes, (tree,)))
    shares = shares_of(np.where(terms.own.any(axis=1, keepdims=True), terms.own, terms.instead))
    label = np.where(terms.label < 0, shares.argmax(axis=1), terms.label)
    return [release.target.classes[code] for code in label.tolist()]


def _distribution(node: Node) -> Iterator[str]:
    """Counts or shares of the classes of a leaf; those of inner nodes where they are stated."""
    shares: Mapping[str, float] = {}
    if node.counts is not None:
        for label, count in node.counts.items():
            yield f'<ScoreDistribution value={quoteattr(label)} recordCount="{count}"/>'
        return
    if node.rates is not None:
        shares = node.rates
    for label, share in shares.items():
        records = _number(share * (node.n if node.n is not None else 1))
        yield f'<ScoreDistribution value={quoteattr(label)} recordCount="{records}" probability="{_number(share)}"/>'


def _predicate(attribute: Attribute, branch: Branch) -> str:
    """The test of a branch."""
    field = f"field={quoteattr(attribute.name)}"
    missing = f'<SimplePredicate {field} operator="isMissing"/>'
    parts = []
    if attribute.values is not None:
        values = branch.values or ()
        if named := _named(values):
            parts.append(_among(field, "isIn", named))
        if OTHER in values:
            parts.append(_among(field, "isNotIn", _named(attribute.values)))
        parts += [missing] * (MISSING in values)
    else:
        low, high = (-inf if branch.gt is None else branch.gt), (inf if branch.le is None else branch.le)
        bounds = [f'<SimplePredicate {field} operator="greaterThan" value="{_number(low)}"/>'] * isfinite(low)
        bounds += [f'<SimplePredicate {field} operator="lessOrEqual" value="{_number(high)}"/>'] * isfinite(high)
        if not bounds and not branch.missing:
            bounds = [f'<SimplePredicate {field} operator="isNotMissing"/>']
        parts += [_compound("and", bounds)] * bool(bounds) + [missing] * bool(branch.missing)
    return _compound("or", parts)


def _among(field: str, operator: str, values: Sequence[str]) -> str:
    if not values:
        return f'<SimplePredicate {field} operator="isNotMissing"/>'
    quoted = " ".join('"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values)
    array = f'<Array n="{len(values)}" type="string">{escape(quoted)}</Array>'
    return f'<SimpleSetPredicate {field} booleanOperator="{operator}">{array}</SimpleSetPredicate>'


def _compound(operator: str, parts: Sequence[str]) -> str:
    if not parts:
        return "<False/>"
    if len(parts) == 1:
        return parts[0]
    return f'<CompoundPredicate booleanOperator="{operator}">{"".join(parts)}</CompoundPredicate>'


def _indented(lines: Iterator[str] | Sequence[str], blanks: int) -> Iterator[str]:
    return (" " * blanks + line for text in lines for line in text.split("\n"))


def _number(value: float) -> str:
    return repr(float(value))


WRITER = Writer("pmml", ".pmml", "a model in PMML, for programs that predict", write_pmml)
