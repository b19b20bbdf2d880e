"""Reader of PMML models by any producer: trees, votes and means of trees, boosted trees."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from os import PathLike

from maxent.models.arguments import shorten
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import bytes_of, uncollected
from maxent.models.formats.pmml.ensembles import CATBOOST, MODELS, read_ensemble
from maxent.models.formats.pmml.inputs import read_input
from maxent.models.formats.pmml.release import Conversion, PmmlModel, with_target
from maxent.models.formats.pmml.xml_document import Element, parse_xml
from maxent.models.formats.proof import read_training
from maxent.models.formats.release_reader import Converted, Head, Wanted, model_reader
from maxent.models.reading import Reader
from maxent.models.release import Release

# Default children that CatBoost leaves out: it names them below one of the two outcomes of each test only.


def name_default_children(root: Element) -> None:
    """Give nodes without a default child the one that others have whose test is of the same field.

    Missing values of a field go to the same end in all trees; where nothing tells, as of all others that do.
    """
    told: dict[str, set[int]] = {}
    silent: list[tuple[str, Element, tuple[Element, ...]]] = []
    for node, field, children in _tests(root):
        name = node.get("defaultChild")
        if name is None:
            silent.append((field, node, children))
            continue
        told.setdefault(field, set()).update(i for i, child in enumerate(children) if child.get("id") == name)
    everywhere = set().union(*told.values())
    for field, node, children in silent:
        places = told.get(field, everywhere)
        if len(places) == 1:
            name = children[next(iter(places))].get("id")
            if name is not None:
                node.pairs = (*node.pairs, "defaultChild", name)


def _tests(root: Element) -> Iterator[tuple[Element, str, tuple[Element, ...]]]:
    """Nodes with two children, the field that these ask for, and the two."""
    stack = [root]
    while stack:
        element = stack.pop()
        stack += element.children
        children = tuple(element.all("Node")) if element.name == "Node" else ()
        test = children[0].first("SimplePredicate") if len(children) == 2 else None
        if test is not None and (field := test.get("field")) is not None:
            yield element, field, children


# Whose forests draw each record so many times as a Poisson variable says: each tree another number of draws
_SPARK = "JPMML-SparkML"


def _recognise(head: Head) -> bool:
    text = head.text
    if head.start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = head.start.decode("utf-16", "replace").lstrip("\ufeff")
    return re.match(r"(?:<\?[^>]*>\s*|<!--.*?-->\s*)*<(?:[A-Za-z0-9_.-]+:)?PMML[\s>]", text, re.DOTALL) is not None


@model_reader("pmml", "a model in PMML: a tree or an ensemble of trees", _recognise)
@uncollected()
def _convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    source = shown_path(path)
    content = bytes_of(os.fspath(path))
    from maxent.models.formats.writers.pmml import own_release

    own = own_release(content, source)
    if own is not None and _as_it_is(own, wanted):
        return Converted(own, "maxent")
    if own is not None and (own.blurred or own.sampled):
        expected = "none of target, classes, features and qi: PMML has no words for how the counts came about"
        raise invalid(source, ARGUMENT, "names", expected, "some, for counts that are rounded, suppressed or sampled")
    root = parse_xml(content, source)
    if root.name != "PMML":
        root.refuse("name", "PMML", shorten(root.name))
    models = list(root.all(*MODELS))
    if len(models) != 1:
        root.refuse("content", "one model", f"{len(models)}")
    try:
        return _converted(root, models[0], wanted, reader)
    except RecursionError:
        raise invalid(source, "document", "content", "functions that are not nested as deep", "too many") from None


def _as_it_is(own: Release, wanted: Wanted) -> bool:
    """Whether all names that are asked for are those that a release has."""
    public = {attribute.name for attribute in own.attributes if attribute.role == "public"}
    return (
        wanted.target in (None, own.target.name)
        and (wanted.classes is None or tuple(wanted.classes) == own.target.classes)
        and (wanted.features is None or list(wanted.features) == [attribute.name for attribute in own.attributes])
        and (wanted.qi is None or set(wanted.qi) == public)
    )


def _converted(root: Element, model: Element, wanted: Wanted, reader: Reader) -> Converted:
    """The release of a document."""
    header = root.first("Header")
    application = None if header is None else header.first("Application")
    name = "" if application is None else application.get("name") or ""
    version = None if application is None else application.get("version")
    if name.startswith(CATBOOST):
        name_default_children(model)
    training = read_training(wanted, reader)
    # Nyoka writes models of scikit-learn, whose trees compare in single precision, with fields of type double.
    exact = name != "Nyoka"
    given = read_input(root, model, training, single=not exact)
    wanted, training = with_target(wanted, given.target, training, reader)
    ensemble = read_ensemble(model, given.scope, name)
    about = PmmlModel(model, given, ensemble, _words(name, version), exact, draws=not name.startswith(_SPARK))
    return Conversion(about, wanted, training).converted()


def _words(application: str, version: str | None) -> str:
    """Name and version of the program that wrote a file, on one line."""
    tag = re.search(r"Branch: tags/v([0-9.]{1,20})", version or "")
    shown = tag[1] if tag is not None else " ".join((version or "").split())[:20]
    return " ".join(f"{application[:60]} {shown}".split()) or "PMML"
