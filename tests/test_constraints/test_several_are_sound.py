"""Several sensitive columns: the truth satisfies what is compiled of their combinations, and of each by itself."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.tree import DecisionTreeClassifier
from support.soundness import check
from support.strategies import Case, People, populations, thorough

from maxent.models.defenses.pruning import prune_leaf, prune_parent
from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.formats.scikit_learn.outputs import is_shared, n_outputs, outputs_of
from maxent.models.formats.scikit_learn.tree import from_sklearn
from maxent.models.induction.inducers import Growth, induce
from maxent.models.release import Release
from maxent.models.tables.training import read_training
from maxent.models.trees.restate import of_target, restate

PEOPLE = populations(rows=(4, 40), public=(1, 3), private=(0, 1), classes=(2, 3))
METHODS = st.sampled_from((prune_leaf, prune_parent))


def grown(people: People, draw: Any) -> tuple[People, Release]:
    """People with two sensitive columns, their combinations as classes, and a tree that was grown on these."""
    other = draw(st.lists(st.sampled_from(("a & b", "c")), min_size=len(people), max_size=len(people)))
    frame = people.frame.assign(Z=other)
    training = read_training(
        frame,
        target=["Y", "Z"],
        qi=[a.name for a in people.attributes if a.role == "public"],
        private=[a.name for a in people.attributes if a.role == "private"],
        domains={a.name: a.values for a in people.attributes if a.values is not None},
    )
    inducer, impurity = draw(st.sampled_from((("cart", "gini"), ("cart", "entropy"), ("id3", "entropy"))))
    if any(a.values is None for a in people.attributes):
        inducer, impurity = "cart", "gini"
    release = induce(training, Growth(inducer, impurity, max_depth=draw(st.integers(1, 4))), publish="counts")
    if draw(st.booleans()):
        release = draw(METHODS)(release, draw(st.integers(1, 6)))
    release = restate(release, draw(st.sampled_from(("labels", "rates", "counts"))))
    attributes = {a.name: a for a in release.attributes}
    combined = People(
        tuple(attributes[a.name] for a in people.attributes), people.columns, training.y, release.target.classes
    )
    return combined, release


@given(PEOPLE, st.data())
@thorough(8)
def test_the_truth_satisfies_what_is_said_of_combinations_and_of_each_column(found: People, data: Any) -> None:
    people, release = grown(found, data.draw)
    validate_release(release)
    check(Case(people, release))
    sizes = [len(part.classes) for part in release.target.of]
    for i, part in enumerate(release.target.of):
        own = np.unravel_index(people.y, sizes)[i].astype(np.int64)
        alone = of_target(release, i)
        validate_release(alone)
        check(Case(replace(people, y=own, classes=part.classes), alone))


def fitted(draw: Any) -> Any:
    """A model of several outputs, before it is fitted."""
    told = {"max_depth": draw(st.integers(1, 4)), "random_state": draw(st.integers(0, 5))}
    if draw(st.booleans()):
        told["class_weight"] = draw(st.sampled_from(("balanced", None)))
    kind = draw(st.sampled_from((DecisionTreeClassifier, ExtraTreesClassifier, RandomForestClassifier)))
    if kind is not DecisionTreeClassifier:
        told |= {"n_estimators": 2, "bootstrap": draw(st.booleans())}
    elif draw(st.booleans()):
        return MultiOutputClassifier(kind(**told))
    return kind(criterion=draw(st.sampled_from(("gini", "entropy"))), **told)


@given(PEOPLE, st.data())
@thorough(8)
def test_the_truth_satisfies_what_a_model_with_several_outputs_states_of_each(people: People, data: Any) -> None:
    other = data.draw(st.lists(st.integers(0, 2), min_size=len(people), max_size=len(people)))
    both = np.column_stack([people.y, other])
    X = pd.DataFrame({name: column.astype(float) for name, column in people.columns.items()})
    model = fitted(data.draw).fit(X, both)
    assert n_outputs(model) == 2
    for output, single in enumerate(outputs_of(model)):
        release = from_sklearn(
            single,
            target="Y",
            categories={a.name: a.values for a in people.attributes if a.values is not None},
            private=[a.name for a in people.attributes if a.role == "private"],
            X=X,
        )
        validate_release(release)
        assert not is_shared(model) or all(tree.induction.impurity is None for tree in release.trees)
        known = {name: code for code, name in enumerate(release.target.classes)}
        y = np.array([known[str(label)] for label in both[:, output].tolist()], np.int64)
        attributes = {a.name: a for a in release.attributes}
        mine = tuple(attributes[a.name] for a in people.attributes)
        check(Case(People(mine, people.columns, y, release.target.classes), release))
