"""A kADET release passes its own audit."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.anonymity import groups_by_span, hierarchies, training_of
from support.strategies import People, populations, thorough

import maxent
from maxent.models.defenses.kadet import Kadet, kadet


@thorough(80)
@given(
    people=populations(rows=(6, 40), public=(1, 3), private=(0, 2), classes=(2, 3)),
    k=st.integers(1, 6),
    confidence=st.sampled_from((None, 0.25)),
    data=st.data(),
)
def test_every_span_that_is_audited_has_k_people(people: People, k: int, confidence: Any, data: st.DataObject) -> None:
    asked = Kadet(k=k, confidence=confidence, hierarchies=data.draw(hierarchies(people)))
    release = kadet(training_of(people), asked)
    spans = maxent.audit(release, people.qi)["spans"]
    sizes = [len(rows) for rows in groups_by_span(people, release).values()]
    assert spans["count"] == len(sizes)
    assert spans["min_population"] == min(sizes) >= k
