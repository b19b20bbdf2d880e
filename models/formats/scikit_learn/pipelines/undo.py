"""A fitted model of scikit-learn, with the steps before it, as a release about the table that it was fitted on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.files.json_files import uncollected
from maxent.models.formats.packing import packed
from maxent.models.formats.scikit_learn.models import searched
from maxent.models.formats.scikit_learn.pipelines.attributes import undone, untested
from maxent.models.formats.scikit_learn.pipelines.nodes import induction_of, input_name, rewritten, tests_of
from maxent.models.formats.scikit_learn.pipelines.steps import trace
from maxent.models.formats.scikit_learn.pipelines.table import Pipe, is_numeric, values_of
from maxent.models.formats.scikit_learn.tree import from_sklearn
from maxent.models.nodes import Nodes
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Release
from maxent.models.tables.columns.missing_values import understood
from maxent.models.tables.frame import Frame, from_pandas, shorten
from maxent.models.text.hints import close_to

if TYPE_CHECKING:
    from pandas import DataFrame

SOURCE = "model"


def is_pipeline(model: object) -> bool:
    """Whether a model, or the best one of a search, is a pipeline of scikit-learn."""
    model = searched(model)
    return type(model).__name__ == "Pipeline" and type(model).__module__.startswith("sklearn.")


@uncollected()
def release_of(
    model: Any,
    table: DataFrame,
    *,
    target: str,
    classes: Sequence[str] | None = None,
    qi: Sequence[str] | None = None,
    bins: Sequence[float] | None = None,
    values: Sequence[float] | None = None,
    read: Callable[..., Release] | None = None,
) -> Release:
    """A fitted model, or a pipeline that ends in one, as a release whose splits are in columns of the table.

    ``model``: as `maxent.from_sklearn` takes it, or a ``Pipeline`` (nested ones, too) that ends in one. ``table``: what
    ``fit`` was given, with its strings, categories, numbers and missing values. More columns may be there. ``target``:
    the name of the sensitive attribute. ``classes``: names of ``model.classes_``, in that order. ``qi``: the
    quasi-identifiers, columns of the table; all other attributes are private. By default all are public. ``bins``,
    ``values``: of a regression, as of `maxent.from_sklearn`. ``read``: in place of `maxent.from_sklearn` where the last
    step is no model of scikit-learn: makes a release over the columns ``features`` of its input, each a number.
    """
    steps, final = _flat(model)
    said = {"classes": classes, "bins": bins, "values": values}
    asked = None if qi is None else tuple(qi)
    given = _model_columns(model, steps, final, table, target)
    header = [str(label) for label in table.columns]
    if asked is not None and (unknown := [name for name in asked if name not in header]):
        expected = f"columns of the table ({shorten(', '.join(header))})"
        raise invalid("options", ARGUMENT, "qi", expected, f"{unknown[0]}{close_to(unknown[0], header)}")
    taken = [header[i] for i in given]
    frame = read_values(table, [name for name in header if name in taken or name in (asked or ())])
    traces = trace(SOURCE, steps, len(given))
    if not steps and read is None and not all(is_numeric(frame, name) for name in taken):
        return _with_attributes(_by_itself(final, table.iloc[:, given], target, said), frame, header, asked)
    pipe = Pipe(SOURCE, [step for _, step in steps], table.iloc[:, given], traces)
    inner = _over_input(final, pipe, target, said, read)
    columns = [values_of(frame, name) for name in taken]
    nodes = [tree.nodes for tree in inner.trees if isinstance(tree.nodes, Nodes)]
    single = read is None and not type(final).__name__.startswith("Hist")  # files have thresholds of doubles
    found = undone(pipe, tests_of(nodes), columns, single=single)
    by_input = {j: found[traced.source] for j, traced in enumerate(pipe.traces.columns)}
    mine = {u.attribute.name: u.attribute for u in found.values()}
    release = _with_attributes(replace(inner, attributes=tuple(mine.values())), frame, header, asked)
    trees = tuple(
        replace(
            tree,
            nodes=rewritten(SOURCE, held, by_input, release.attributes),
            induction=induction_of(tree, by_input, release.attributes),
        )
        for tree, held in zip(inner.trees, nodes, strict=True)
    )
    return replace(release, trees=trees)


def _by_itself(final: Any, table: DataFrame, target: str, said: Mapping[str, Any]) -> Release:
    """A model that takes categories as they are."""
    names = [str(label) for label in table.columns]
    return from_sklearn(final, target=target, features=names, X=table, **said)


def _with_attributes(release: Release, frame: Frame, header: Sequence[str], qi: Sequence[str] | None) -> Release:
    """A release with its attributes in the order of the table, their roles, and quasi-identifiers that it lacks."""
    mine = {attribute.name: attribute for attribute in release.attributes}
    attributes = tuple(
        _with_role(mine.get(name) or untested(values_of(frame, name)), qi)
        for name in header
        if name in mine or name in (qi or ())
    )
    if any(attribute.name == release.target.name for attribute in attributes):
        raise invalid("options", ARGUMENT, "target", "a name that no attribute has", shorten(release.target.name))
    return replace(release, attributes=attributes)


def read_values(table: DataFrame, names: Sequence[str]) -> Frame:
    """Columns of a table as tables of people are read: every value in it is one, however it is spelled."""
    frame = from_pandas(table, "X", names)
    if frame.problems:
        raise InvalidInput("X", frame.problems)
    return understood(frame, Reader(), {name: column.texts() for name, column in frame.columns.items()})


def _with_role(attribute: Attribute, qi: Sequence[str] | None) -> Attribute:
    return attribute if qi is None or attribute.name in qi else replace(attribute, role="private")


def _flat(model: Any) -> tuple[list[tuple[str, Any]], Any]:
    """The steps before the last of a pipeline, and that; those of a pipeline at its end, too."""
    steps: list[tuple[str, Any]] = []
    while is_pipeline(model := searched(model)):
        steps += [(name, step) for name, step in model.steps[:-1] if step is not None and step != "passthrough"]
        model = model.steps[-1][1]
    return steps, model


def final_of(model: Any) -> Any:
    """The model at the end of a pipeline; a model that is none itself."""
    return _flat(model)[1]


def _over_input(
    final: Any, pipe: Pipe, target: str, said: Mapping[str, Any], read: Callable[..., Release] | None
) -> Release:
    """The model as a release over the columns of its input."""
    names = [input_name(j) for j in range(len(pipe.traces.columns))]
    # The name of the target must not be that of a column of the input.
    if read is not None:
        release = read(final, target="class", features=names, **said)
        held = [packed(SOURCE, tree.nodes, release.attributes, release.target.classes) for tree in release.trees]
        trees = tuple(replace(tree, nodes=nodes) for tree, nodes in zip(release.trees, held, strict=True))
        release = replace(release, trees=trees)
    else:
        release = from_sklearn(final, target="class", features=names, X=_rows_of(final, pipe), **said)
    return replace(release, target=replace(release.target, name=target))


def _rows_of(final: Any, pipe: Pipe) -> Any:
    """The rows that a single tree was fitted on: they prove which splits competed."""
    return pipe.input.tocsr() if hasattr(pipe.input, "tocsr") else pipe.input


def _model_columns(
    model: Any, steps: Sequence[tuple[str, Any]], final: Any, table: DataFrame, target: str
) -> list[int]:
    """Positions of the columns that the first step is given, in its order."""
    header = [str(label) for label in table.columns]
    first = steps[0][1] if steps else final
    names = getattr(first, "feature_names_in_", None)
    if names is not None:
        problems = list(_absent(names, header))
        if problems:
            raise InvalidInput("X", problems)
        return [header.index(str(name)) for name in names]
    found = [i for i, name in enumerate(header) if name != target]
    width = getattr(first, "n_features_in_", len(found))
    if len(found) != width:
        expected = f"{width} columns, as many as fit was given (without names), and the target"
        raise invalid("X", ARGUMENT, "X", expected, f"{len(found)} beside the target")
    return found


def _absent(names: Sequence[str], header: Sequence[str]) -> Iterator[Problem]:
    for name in map(str, names):
        if name not in header:
            yield Problem("columns", name, "a column of this name, as fit had it", f"none{close_to(name, header)}")
