"""What is true of the people satisfies every constraint that is compiled after error-risk pruning."""

from dataclasses import replace
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from support.soundness import check
from support.strategies import Case, Style, cases, populations, thorough

from maxent.models.defenses.error_risk import prune_erp
from maxent.models.trees.restate import restate

WIDE = (-3.0, 10.0)


@thorough(80)
@given(
    case=cases(
        populations(rows=(8, 40), private=(0, 2), classes=(2, 3)),
        style=st.sampled_from([Style("counts", inner=inner) for inner in ("nothing", "counts")]),
        trees=(1, 2),
    ),
    rule=st.sampled_from(("twig", "literal")),
    k=st.integers(1, 12),
    publish=st.sampled_from(("labels", "rates", "counts")),
)
def test_pruned_releases_are_sound(case: Case, rule: Any, k: int, publish: Any) -> None:
    assume(k <= len(case.people))
    ranges = {a.name: WIDE for a in case.release.attributes if a.values is None}
    check(replace(case, release=restate(prune_erp(case.release, k, ranges=ranges, rule=rule), publish)))
