"""Defenses: from confidential records to a release, also by searching the best tree or forest within limits."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from maxent.models.arguments import check_functions, parameters_of, shorten, shorten_list
from maxent.models.defenses.method import Method, Progress
from maxent.models.defenses.registry import asked_for, given, methods, parameters
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.reading import Reader, Reading, reader_of
from maxent.models.release import Release
from maxent.models.tables.classes import named_targets
from maxent.models.tables.frame import Source
from maxent.models.tables.generalized_records import GeneralizedTable
from maxent.models.tables.training import Missing, Training, read_training
from maxent.models.trees.predict import cases_of, read_cases, score
from maxent.results.defended import Defended

# Note on a release about several sensitive columns.
TOGETHER = (
    "classes are combinations of {}: what is said of classes, of pure leaves too, is said of combinations, and people "
    "in a leaf of several of these may still be alike in one column (maxent audit looks at each by itself)"
)


def defend(
    data: Source,
    method: str = "none",
    *,
    target: str | Sequence[str],
    qi: Sequence[str],
    private: Sequence[str] = (),
    categorical: Sequence[str] = (),
    missing: Missing = "refuse",
    test: Source | None = None,
    model: Any = None,
    reading: Reading | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Defended:
    """Grow a tree from confidential records, and defend it before it is published.

    Parameters
    ----------
    data : DataFrame or path
        One row per record; other columns than those named here are ignored.
    method : str
        One of `maxent.models.defenses.registry.method_names`, such as ``prune-parent``.
    target : str or sequence of str
        The column of the class. Of several sensitive columns the classes are all combinations of theirs, at most 64;
        see docs/several.md. Records have one.
    qi, private : sequence of str
        The attributes an adversary has in their table, and those they have not.
    categorical : sequence of str
        Columns whose numbers are only names.
    missing : {"refuse", "category"}
        Cells without a value in columns that are not numeric: an error, or a category of their own. The second is right
        only if what is missing here is missing in the adversary's table.
    test : DataFrame or path, optional
        Other records, for the test accuracy. They may have values and classes that the data have not.
    model : path, Release, or fitted model or pipeline of scikit-learn, optional
        A tree to start from, in place of one that is grown, see `maxent.convert`; for methods that prune a tree. Its
        leaves state what the records have in them. For a pipeline ``data`` is the DataFrame that ``fit`` was
        given, with the target.
    reading : Reading, optional
        How all tables are read, see `maxent.models.reading.Reading`.
    progress : callable, optional
        Called with what is being done, how many pieces of it are done, and how many there are, while a search takes
        long.
    **options
        Parameters of the method, with the names of the command's options; None stands for the default. Several ``k``
        give a release each.

    Returns
    -------
    Defended
        Frozen; ``.release`` (``.releases`` for several k; ``.tables`` of records), ``.rows``, ``.summary``,
        ``.save(path)``.

    Raises
    ------
    TypeError
        For an option that no method has.
    """
    if unknown := options.keys() - parameters().keys():
        raise TypeError(f"defend() got unexpected keyword arguments: {', '.join(sorted(unknown))}")
    check_functions(progress=progress)
    asked = asked_for(method, options)
    if test is not None and not asked[0].predicts:
        found = Problem(ARGUMENT, "test", "none for records, which do not predict", shorten(test))
        raise InvalidInput("options", [found])
    targets = named_targets("options", target)
    if len(targets) > 1 and not asked[0].predicts:
        raise invalid("options", ARGUMENT, "target", "one column, for records", shorten_list(targets))
    reader = reader_of(reading)
    columns = {
        "target": targets if len(targets) > 1 else targets[0],
        "qi": qi,
        "private": private,
        "categorical": categorical,
        "missing": missing,
    }
    if model is None:
        first, training = read_for(asked[0], data, columns, reader)
        return defend_training(method, [first, *asked[1:]], training, test, reader, progress=progress)
    if len(targets) > 1:
        raise invalid("options", ARGUMENT, "target", "one column, for a tree to start from", shorten_list(targets))
    from maxent.api.start import (
        counted,  # which loads the readers
        domains_of,  # which loads the readers
        private_of,  # which loads the readers
        starting_tree,  # which loads the readers
    )

    start = starting_tree(model, data, method, asked[0], given(options), columns, reading)
    columns["private"] = private_of(start, columns_named(qi), columns_named(private))
    domains = domains_of(start, [*columns_named(qi), *columns["private"]])
    named: dict[str, Any] = {**columns, "domains": domains}
    training = read_training(data, **named, reader=reader)
    first = asked[0].read(targets[0], [*columns_named(qi), *columns["private"]], reader)
    return defend_training(method, [first, *asked[1:]], training, test, reader, counted(start, training), progress)


def read_for(asked: Method, data: Source, columns: Mapping[str, Any], reader: Reader) -> tuple[Method, Training]:
    """Read the files of a method, and the records as it codes them; ``columns`` are arguments of `defend`."""
    method = asked.read(columns["target"], [*columns_named(columns["qi"]), *columns_named(columns["private"])], reader)
    domains, order = method.domains_known, method.domain_order
    return method, read_training(data, **columns, domains=domains, order=order, reader=reader)


def defend_training(
    method: str,
    asked: Sequence[Method],
    training: Training,
    test: Source | None,
    reader: Reader,
    start: Release | None = None,
    progress: Progress | None = None,
) -> Defended:
    """Defend records that were read, for each of the k asked for; the first of these has read the method's files."""
    first: Any = asked[0]  # whether it has a k is its own affair
    cases = None if test is None else read_cases(test, "test", training.target, training.attributes, reader=reader)
    known, predict = cases_of(training), first.predictor()
    grown = first.origin(training) if start is None else start
    releases: list[Release] = []
    tables: list[GeneralizedTable] = []
    rows: list[dict[str, Any]] = []
    told: list[str] = []
    for each in asked:
        k = getattr(each, "k", None)
        published, row = publication(first if k is None else replace(first, k=k), training, grown, progress)
        rows.append({"k": k, **row})
        if isinstance(published, GeneralizedTable):
            tables.append(published)
            continue
        releases.append(published)
        tested = None if cases is None else score(published, cases, predict)
        rows[-1]["train_accuracy"] = score(published, known, predict).accuracy
        rows[-1]["test_accuracy"] = None if tested is None else tested.accuracy
        told += [] if tested is None else [f"test: {note}" for note in tested.notes]
    several = [TOGETHER.format(" and ".join(training.target.columns))] if training.target.of else []
    notes = (*first.notes(training, releases, rows), *several, *dict.fromkeys(told))
    return Defended(method, tuple(releases), tuple(rows), len(training), notes, tuple(tables), reader.noticed)


def publication(
    method: Any, training: Training, grown: Any, progress: Progress | None
) -> tuple[Release | GeneralizedTable, Mapping[str, Any]]:
    """What a method publishes, and its row; where that is to pass an audit, as of several trees, the engine's."""
    if isinstance(grown, Release) and len(grown.trees) > 1 and hasattr(method, "audited"):
        from maxent.api.defend_audited import publish_forest

        return publish_forest(method, training, grown, progress)
    if getattr(method, "audited", False) or getattr(method, "choose", False):
        from maxent.api.defend_audited import publish_audited

        return publish_audited(method, training, grown, progress)
    told = [progress] if method.tells else []
    found: tuple[Release | GeneralizedTable, Mapping[str, Any]] = method.publish_from(training, grown, *told)
    return found


def columns_named(columns: object) -> list[str]:
    """Columns as far as they are names; what is wrong with them is told when the data are read."""
    return [str(name) for name in columns] if isinstance(columns, Iterable) else []


def _signature() -> inspect.Signature:
    """The arguments of `defend`, the parameters of all methods among them."""
    own = inspect.signature(defend).parameters
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any)
        for name in parameters()
        if name not in own
    ]
    return inspect.Signature([*(each for each in own.values() if each.kind != each.VAR_KEYWORD), *named])


def _described() -> str:
    """The parameters of all methods, as the docstring has them."""
    lines = []
    for name, each in parameters().items():
        takers = ", ".join(method for method, kind in methods().items() if name in parameters_of(kind))
        lines.append(f"        {name} ({takers}) : {each.about.help}")
    return "\n".join(lines)


defend.__signature__ = _signature()  # type: ignore[attr-defined]
defend.__doc__ = (defend.__doc__ or "").replace("give a release each.", f"give a release each.\n\n{_described()}")


# What the leaves of a tree may state, and whether its criterion is stated: what ``--choose`` chooses among.


# The best subtree that passes its own audit: what the engine finds beyond limits is cut off, and the next one tried.
#
# What leaves state is not all that an adversary may know: what splits were chosen by is stated, or private attributes
# hide who is in which leaf, and then leaves are coupled. The search (`maxent.models.defenses.optimal.best_first`) knows
# only what leaves state; so each subtree that it finds is estimated and attacked as any release is.


# A forest within limits: some of its trees, each as deep as all together can be, chosen one after the other.
#
# Several trees tell more together than each of them does, and what they tell cannot be summed over leaves. So each
# choice is estimated and attacked as any release is. There is no proof that another choice is not better.
