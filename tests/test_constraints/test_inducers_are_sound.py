"""The truth satisfies everything that is compiled from a release of one of the inducers."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from support.soundness import check
from support.strategies import NUMBERS, Case, People, populations, thorough, true_masses

from maxent.constraints.compiler import compile_program
from maxent.constraints.program.residuals import Evaluator
from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.induction.inducers import Growth, c45, induce
from maxent.models.release import Induction, Release
from maxent.models.tables.qi_table import read_qi
from maxent.models.tables.training import read_training

# Numbers that single precision confuses, or hardly tells apart.
CLOSE = (1.0, 1.0 + 2**-23, 1.0 + 2**-22, 1.0 + 3 * 2**-24, 16777219.0, 16777220.0)

PUBLISHED = {
    "publish": st.sampled_from(("labels", "rates", "counts")),
    "inner_counts": st.booleans(),
    "declared": st.booleans(),
}
SIZES = {
    "max_depth": st.sampled_from((None, None, 1, 2, 4)),
    "min_samples_leaf": st.integers(1, 5),
    "min_samples_split": st.integers(1, 6),
}


@st.composite
def crowds(draw: Any, *, numeric: bool = True) -> People:
    """People, often a few dozen; numbers may be close to one another."""
    rows = draw(st.sampled_from(((2, 40), (20, 60))))
    people = draw(populations(rows=rows, public=(1, 3), classes=(2, 4), numeric=numeric))
    if numeric and draw(st.booleans()):
        number = dict(zip(NUMBERS, CLOSE, strict=True))
        columns = {
            a.name: people.columns[a.name] if a.values else np.array([number[v] for v in people.columns[a.name]])
            for a in people.attributes
        }
        people = replace(people, columns=columns)
    return people


def grown(people: People, growth: Growth, declared: bool, **published: Any) -> Release:
    """A release, of domains that are declared or of what occurs."""
    domains = {a.name: a.values for a in people.attributes if a.values and declared}
    training = read_training(
        people.frame,
        target="Y",
        qi=[a.name for a in people.attributes if a.role == "public"],
        private=[a.name for a in people.attributes if a.role == "private"],
        domains={**domains, "Y": people.classes},
        order=growth.order,
    )
    release = induce(training, growth, **published)
    validate_release(release)
    return release


@thorough(60)
@given(
    people=crowds(numeric=False),
    growth=st.builds(Growth, st.just("id3"), st.sampled_from(("entropy", "gini", "gain_ratio")), **SIZES),
    published=st.fixed_dictionaries(PUBLISHED),
)
def test_the_truth_satisfies_everything_compiled_from_id3(people: People, growth: Growth, published: Any) -> None:
    check(Case(people, grown(people, growth, **published)))


@thorough(100)
@given(
    people=crowds(),
    growth=st.builds(
        Growth,
        st.just("cart"),
        st.sampled_from(("gini", "entropy")),
        encoding=st.sampled_from(("ordinal", "appearance", "onehot")),
        seed=st.integers(0, 9),
        max_leaf_nodes=st.sampled_from((None, None, 2, 3, 5)),
        min_impurity_decrease=st.sampled_from((0.0, 0.0, 0.02, 0.1)),
        ccp_alpha=st.sampled_from((0.0, 0.0, 0.01, 0.05)),
        **SIZES,
    ),
    published=st.fixed_dictionaries(PUBLISHED),
)
def test_the_truth_satisfies_everything_compiled_from_cart(people: People, growth: Growth, published: Any) -> None:
    check(Case(people, grown(people, growth, **published)))


@thorough(100)
@given(
    people=crowds(),
    growth=st.builds(
        Growth,
        st.just("c45"),
        selection=st.sampled_from(("gain_ratio", "gain_ratio", "quinlan")),
        confidence=st.sampled_from((None, 0.5, 0.25, 0.1)),
        **SIZES,
    ),
    published=st.fixed_dictionaries(PUBLISHED),
)
def test_the_truth_satisfies_everything_compiled_from_c45(people: People, growth: Growth, published: Any) -> None:
    check(Case(people, grown(people, growth, **published)))


def test_not_all_that_quinlan_compares_may_be_compiled() -> None:
    """The attribute rare has the larger gain ratio, but gains less than average: it did not compete."""
    data = pd.DataFrame({"big": list("aaaabbbb"), "rare": list("pqqqqqqq"), "t": list("11000000")})
    release = c45(data, target="t", qi=["big", "rare"], selection="quinlan", min_samples_leaf=1, confidence=None)
    assert release.trees[0].root.attribute == "big"
    table = read_qi(data, release)
    assert not compile_program(release, table).internal
    claimed = replace(release, trees=(replace(release.trees[0], induction=Induction("c45", "gain_ratio", "mixed")),))
    program = compile_program(claimed, table)
    people = People(
        release.attributes,
        {a.name: np.array([a.values.index(v) for v in data[a.name]]) for a in release.attributes if a.values},
        data["t"].astype(int).to_numpy(),
        release.target.classes,
    )
    assert Evaluator(program).max_violation(true_masses(Case(people, claimed), program)) > 1e-3
