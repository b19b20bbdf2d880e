"""Counts that are rounded to a base: the format, and what a published number says."""

import json
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from math import ceil, floor

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support import documents
from support.calls import refusal, refused
from support.documents import release_document
from support.soundness import check
from support.strategies import Style, cases, roundings, thorough

import maxent
from maxent.models.defenses import ERPTreeClassifier, KADETClassifier, LeafPrunedTree, OptimalSubtree, ParentPrunedTree
from maxent.models.defenses.error_risk import prune_erp
from maxent.models.defenses.estimators import PlainTree
from maxent.models.defenses.optimal.limits import SubtreeLimits as Limits
from maxent.models.defenses.optimal.subtree import optimal_subtree
from maxent.models.defenses.pruning import prune_leaf, prune_parent
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.formats.maxent_json.rules import checked_release
from maxent.models.formats.maxent_json.typed import read_typed
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.release import Attribute, Branch, Node, Release, Rounded, Target, Tree, behind
from maxent.models.successive.releases import join_releases
from maxent.models.trees.predict import predict_columns
from maxent.models.trees.printed_rates import RateReader, _shortest, decimals, rate_reader
from maxent.models.trees.reidentification import measure_risk
from maxent.models.trees.restate import restate
from maxent.models.trees.rounding import round_counts, rounded_numbers

DOCUMENT = release_document(
    "Y",
    ["well", "ill"],
    {"Age": None},
    [
        {
            "id": "N1",
            "attribute": "Age",
            "branches": [{"le": 37.5, "child": "L1"}, {"gt": 37.5, "child": "L2"}],
            "counts": {"well": 15, "ill": 5},
        },
        {"id": "L1", "label": "well", "counts": {"well": 15, "ill": 0}, "n": 15},
        {"id": "L2", "label": "ill", "counts": {"well": 0, "ill": 5}, "n": 5},
    ],
    release={"rounded": {"base": 5, "method": "nearest"}},
)
N1, L1, L2 = (("trees", 0, "nodes", i) for i in range(3))


def changed(path, value):
    return documents.changed(DOCUMENT, (path, value))


def parsed(document):
    return parse_release(document, "tree.json")


def rounded_to(true, rounded):
    """Every number that a number of records can be published as."""
    below, base = true - true % rounded.base, rounded.base
    both = {below, below if true == below else below + base}
    if rounded.method == "down":
        return {below}
    if rounded.method == "random":
        return both
    return {each for each in both if abs(each - true) == min(abs(other - true) for other in both)}


@pytest.mark.parametrize("method", ["nearest", "random", "down"])
@pytest.mark.parametrize("base", [2, 3, 4, 5, 10])
def test_a_published_number_stands_for_those_that_are_rounded_to_it(base, method):
    rounded = Rounded(base, method)
    for published in range(0, 4 * base, base):
        low, high = rounded.behind(np.array([published]))
        behind = [true for true in range(6 * base) if published in rounded_to(true, rounded)]
        assert behind == list(range(int(low[0]), int(high[0]) + 1))


# Small counts are suppressed, and then the others rounded: where the limit is 0 none is.
REDACTED = st.builds(
    Style,
    rounded=roundings(),
    suppressed_below=st.sampled_from((0, 2, 5, 8)),
    hides_n=st.booleans(),
    seed=st.integers(0, 99),
    inner=st.just("mixture"),
)


@pytest.mark.parametrize("method", ["nearest", "random", "down"])
@pytest.mark.parametrize(("base", "limit"), [(5, 8), (5, 2), (3, 8), (10, 2), (10, 6), (2, 0)])
def test_a_redacted_number_stands_for_those_that_are_suppressed_or_rounded_to_it(base, limit, method):
    rounded = Rounded(base, method)
    shown = {true: {0} if true < limit else rounded_to(true, rounded) for true in range(8 * base)}
    for published in {each for every in shown.values() for each in every if each < 4 * base}:
        low, high = behind(np.array([published]), limit, rounded)
        true = [true for true, every in shown.items() if published in every]
        assert (low[0], high[0]) == (true[0], true[-1])
        assert (
            behind(np.array([published]), limit, rounded, sizes=True)[0][0]
            == rounded.behind(np.array([published]))[0][0]
        )


@pytest.mark.slow
@thorough(60)
@given(case=cases(trees=(1, 2), style=REDACTED))
def test_what_is_redacted_and_then_rounded_is_a_sound_release(case):
    check(case)


def test_of_redacted_counts_a_zero_stands_for_all_that_are_suppressed(tmp_path):
    """Counts of 7 or fewer are redacted, others rounded to 5: of 15 people 4 are shown as 0."""
    document = changed(("release", "suppressed_below"), 8)
    for node, well, ill in ((L1, 10, 0), (L2, 0, 10), (N1, 15, 15)):
        document = documents.changed(document, ((*node, "counts"), {"well": well, "ill": ill}), ((*node, "n"), 15))
    document = documents.changed(document, ((*N1, "n"), 30))
    release = parsed(document)
    assert (release.suppressed_below, str(release.rounded)) == (8, "nearest, base 5")
    assert parsed(release_to_document(release)) == release
    ages = [30] * 15 + [45] * 15
    people = pd.DataFrame({"Age": ages, "Y": ["well"] * 11 + ["ill"] * 4 + ["well"] * 3 + ["ill"] * 12})
    found = maxent.review(release, people, target="Y", qi=["Age"], max_certain=0)
    assert found.verdict().status != "fail"
    [told] = [note for note in found.estimate.notes if "a count of 0 stands for" in note]
    assert told.startswith(
        "a count of 0 stands for 0 to 7; numbers of records are rounded to the nearest multiple of 5"
    )
    bounds = maxent.bounds(release, people[["Age"]])
    assert bounds.certain_proved == 0


@thorough(12)
@given(case=cases(trees=(1, 2), style=REDACTED))
def test_both_readers_take_numbers_that_were_rounded(case):
    document = release_to_document(case.release)
    careful, fast = checked_release(document, "it"), read_typed(json.dumps(document).encode())
    assert careful == fast
    assert careful.rounded == case.release.rounded
    assert careful.trees == case.release.trees


WRONG = {
    "a base of 0": (("release", "rounded", "base"), 0, "rounded: base: expected a whole number from 2 to"),
    "a base of 1": (("release", "rounded", "base"), 1, "rounded: base: expected a whole number from 2 to"),
    "a negative base": (("release", "rounded", "base"), -5, "rounded: base: expected a whole number from 2 to"),
    "half a base": (("release", "rounded", "base"), 2.5, "rounded: base: expected a whole number from 2 to"),
    "a base in words": (("release", "rounded", "base"), "five", "rounded: base: expected a whole number from 2 to"),
    "no base": (("release", "rounded"), {"method": "down"}, "rounded: base: expected the base, a whole number"),
    "no method": (("release", "rounded"), {"base": 5}, "rounded: method: expected one of nearest, random, down"),
    "another method": (("release", "rounded", "method"), "up", "rounded: method: expected one of nearest, random"),
    "a number": (("release", "rounded"), 5, "release: rounded: expected an object"),
    "another key": (("release", "rounded", "seed"), 5, "rounded: seed: expected only the keys base, method"),
    "a sample": (("release", "sampling_rate"), 0.5, "release: sampling_rate: expected no such key beside rounded"),
    "a count that was suppressed": (
        ("release", "suppressed_below"),
        8,
        "node L2: counts of ill: expected 0, or what at least 8 records are rounded to (release.suppressed_below)",
    ),
    "draws": (("release", "resampled"), 20, "release: resampled: expected no such key beside rounded"),
    "a count that is no multiple": ((*L1, "counts", "ill"), 2, "node L1: counts of ill: expected a multiple of 5"),
    "an n that is no multiple": ((*L2, "n"), 6, "node L2: n: expected a multiple of 5 (release.rounded), found 6"),
    "an error rate": ((*L2, "error_rate"), 0.1, "node L2: error_rate: expected no such key beside release.rounded"),
    "rates": ((*L2, "rates"), {"ill": 1.0}, "node L2: rates: expected no such key beside release.rounded"),
    "an n that no sum is rounded to": ((*L1, "n"), 25, "node L1: n: expected what the sum of counts is rounded to"),
    "a label of too few": ((*L1, "label"), "ill", "node L1: label: expected a class that can be most frequent ('well'"),
    "children of more": ((*N1, "counts", "well"), 30, "node N1: counts of well: expected what the sum of its children"),
    "an n of less": ((*N1, "n"), 0, "node N1: n: expected what the sum of counts is rounded to, 16 to 24, found 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name):
    path, value, said = WRONG[name]
    document = changed(path, value)
    assert said in str(refusal(parsed, document))
    assert read_typed(json.dumps(document).encode()) is None


def test_totals_need_not_add_up():
    for n in (15, 20, 25):
        assert parsed(changed((*N1, "n"), n)).trees[0].root.n == n
    assert parsed(changed((*L1, "n"), 20)).rounded == Rounded(5, "nearest")  # 13 to 17, and 0 to 2: up to 19
    removed = changed((*N1, "branches", 1, "child"), None)
    del removed["trees"][0]["nodes"][2]
    assert len(parsed(removed).trees[0].nodes) == 2


def test_a_decided_label_says_nothing_of_records():
    assert parsed(changed((*L1, "label"), "ill") | {"labels": "decided"}).rounded is not None


def test_what_needs_exact_counts_is_refused():
    release = parsed(DOCUMENT)
    for prune in (prune_leaf, prune_parent):
        refused(r"release: rounded: expected exact counts.*nearest, base 5", prune, release, 3)
    refused(r"expected n or counts: the risk .* found rounded numbers", measure_risk, release, {"Age": (18.0, 90.0)})
    refused("node L1: counts", prune_erp, release, 3, ranges={"Age": (18.0, 90.0)})
    refused("node L1: counts", optimal_subtree, release, Limits(k=3))
    refused("an error rate, or counts that imply it", restate, release, "rates")
    assert restate(release, "labels").trees[0].leaves[0].counts is None
    assert restate(release, "counts") == replace(release, trees=restate(release, "counts").trees)


def test_it_is_shown_and_it_predicts():
    release = parsed(changed((*L2, "counts"), {"well": 0, "ill": 0}) | {"release": DOCUMENT["release"]})
    assert "rounded counts: nearest, base 5" in repr(release)
    codes = predict_columns(release, release.attributes, [np.array([20.0, 50.0])], 2)
    assert codes.tolist() == [0, 1]  # by its label where all counts are rounded to 0


def exact(*counts):
    leaves = tuple(
        Node(f"L{i}", label="well", n=sum(c), counts={"well": c[0], "ill": c[1]}) for i, c in enumerate(counts)
    )
    root = Node("N", "Age", (Branch("L0", le=37.0), Branch("L1", gt=37.0)), n=sum(map(sum, counts)))
    return Release(Target("Y", ("well", "ill")), (Attribute("Age", "numeric"),), (Tree((root, *leaves)),))


def test_each_number_is_rounded_for_itself():
    found = {method: round_counts(exact((7, 3), (8, 8)), Rounded(5, method), 0) for method in ("nearest", "down")}
    assert [list(leaf.counts.values()) for leaf in found["nearest"].trees[0].leaves] == [[5, 5], [10, 10]]
    assert [node.n for node in found["nearest"].trees[0].nodes] == [25, 10, 15]  # 26, 10 and 16
    assert [list(leaf.counts.values()) for leaf in found["down"].trees[0].leaves] == [[5, 0], [5, 5]]
    assert rounded_numbers(np.array([0, 5, 15, 14]), Rounded(10, "nearest")).tolist() == [0, 10, 20, 10]
    for release in found.values():
        checked_release(release_to_document(release), "it")


def test_chance_leaves_the_mean_and_a_seed_repeats_it():
    rounded, dice = Rounded(5, "random"), np.random.default_rng(0)
    for true in (0, 5, 1, 3, 13):
        found = rounded_numbers(np.full(20_000, true), rounded, dice)
        assert set(found.tolist()) == rounded_to(true, rounded)
        assert abs(found.mean() - true) < 0.08  # five standard errors
    release = exact((7, 3), (8, 8))
    assert round_counts(release, rounded, 3) == round_counts(release, rounded, 3)
    assert len({repr(round_counts(release, rounded).trees) for _ in range(40)}) > 1


@pytest.mark.slow
@thorough(60)
@given(case=cases(trees=(1, 2), style=st.builds(Style, leaf=st.just("counts"))), rounded=roundings())
def test_what_is_rounded_is_a_sound_release(case, rounded):
    check(replace(case, release=round_counts(case.release, rounded)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"suppressed_below": 3}, "release: counts: expected counts of all records"),
        ({"rounded": Rounded(5)}, "release: counts: expected counts of all records"),
        ({"sampling_rate": 0.5}, "release: counts: expected counts of all records"),
        (
            {"trees": (Tree((Node("L", label="well", error_rate=0.5, n=2),)),)},
            "node L: error_rate: expected nothing but",
        ),
    ],
)
def test_what_cannot_be_rounded_is_refused(change, said):
    refused(said, round_counts, replace(exact((7, 3), (8, 8)), **change), Rounded(5))


PEOPLE = pd.DataFrame(
    {"a": [0, 0, 0, 1, 1, 1, 2, 2] * 8, "b": list("ppqqpqpq") * 8, "y": list("nnyynyny") * 7 + list("yyyynnnn")}
)


@pytest.mark.parametrize(
    "estimator", [LeafPrunedTree, ParentPrunedTree, ERPTreeClassifier, OptimalSubtree, KADETClassifier, PlainTree]
)
def test_estimators_publish_rounded_counts(estimator):
    X, y = PEOPLE[["a", "b"]].astype({"a": float}), PEOPLE["y"]
    exact = estimator().fit(X, y)
    for method in ("nearest", "random", "down"):
        found = estimator(round_counts=5, round_method=method, random_state=0).fit(X, y)
        assert found.release_.rounded == Rounded(5, method)
        assert (found.predict(X) == exact.predict(X)).all()  # labels stay
        rng = np.random.RandomState(0)
        assert estimator(round_counts=5, round_method=method, random_state=rng).fit(X, y).release_.rounded is not None
    for wrong, said in (
        ({"round_counts": 1}, "round_counts: expected None or a whole number of records, at least 2"),
        ({"round_counts": 5, "round_method": "up"}, "round_method: expected one of nearest, random, down"),
        ({"round_counts": 5, "publish": "labels"}, "round_counts: expected None: leaves state labels"),
        ({"round_method": "down"}, "round_method: expected 'nearest': no base is given"),
    ):
        with pytest.raises(InvalidInput, match=said):
            estimator(**wrong).fit(X, y)


NEAREST = (ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP)


def printed(wrong: int, n: int, digits: int, rounding: str) -> float:
    """The rate with so many decimals, by a rule for ties, or for everything."""
    return float((Decimal(wrong) / Decimal(n)).quantize(Decimal(1).scaleb(-digits), rounding))


def spans(rates, mode="auto"):
    reader = rate_reader(rates, mode)
    return [reader.hits(rate, n) for rate, n in rates]


@pytest.mark.parametrize(
    ("rate", "digits"),
    [(0.0, 0), (1.0, 0), (0.5, 1), (0.25, 2), (0.333, 3), (1e-3, 3), (1 / 3, 16), (1 - 0.93, 2), (0.1 + 0.2, 1)],
)
def test_digits_are_those_of_the_decimal_that_a_float_stands_for(rate, digits):
    assert decimals(rate) == digits


@pytest.mark.regression(number=5)
def test_rates_of_whole_numbers_are_intervals_where_several_whole_numbers_have_them():
    # 25, 51 and 1 of these records, printed with two digits, are 0.12 (or 0.13), 0.13 and 0.0: all whole numbers.
    assert spans([(0.12, 200.0), (0.13, 400.0), (0.0, 300.0)]) == [(175.0, 177.0), (346.0, 350.0), (299.0, 300.0)]
    assert "read as intervals" in rate_reader([(0.12, 200.0), (0.13, 400.0), (0.0, 300.0)], "auto").note


def test_rates_are_exact_where_only_one_whole_number_has_them():
    rates = [(0.25, 4.0), (0.5, 2.0), (0.0, 3.0)]
    assert spans(rates) == [(3.0, 3.0), (1.0, 1.0), (3.0, 3.0)]
    note = rate_reader(rates, "auto").note
    assert note == "error rates are exact: rounded to 2 digits, each is that of one whole number of records only"
    assert "intervals" in rate_reader([*rates, (0.5, None)], "auto").note  # of an unknown number many may have it


def test_full_precision_is_exact():
    reader = rate_reader([(1 / 3, 3_000.0), (0.5, 1000.0), (1 / 3, None)], "auto")
    assert [reader.hits(1 / 3, 3000.0), reader.hits(0.5, 1000.0)] == [(2000.0, 2000.0), (500.0, 500.0)]
    assert reader.share(1 / 3) == (1 - 1 / 3, 1 - 1 / 3)
    assert reader.note == "error rates are exact: they have full precision"
    assert spans([(float(np.float32(1) / np.float32(3)), 300_000.0)]) == [(200_000.0, 200_000.0)]


def test_noise_of_floats_is_no_precision():
    assert spans([(1 - 0.93, 400.0), (1 - 0.88, 200.0)]) == [(370.0, 374.0), (175.0, 177.0)]


def test_literal_rates_are_taken_literally():
    reader = rate_reader([(0.12, 200.0), (0.0, 300.0), (0.25, None)], "exact")
    assert (reader.hits(0.12, 200.0), reader.hits(0.0, 300.0)) == ((176.0, 176.0), (300.0, 300.0))
    assert reader.share(0.25) == (0.75, 0.75)
    assert reader.note == ""


def test_rates_without_any_other_digit_have_at_least_one():
    assert spans([(0.0, 9.0), (0.0, 40.0)]) == [(9.0, 9.0), (38.0, 40.0)]
    assert rate_reader([], "auto") == RateReader()


def test_significant_digits_are_thought_of_unless_decimals_are_asked_for():
    rates = [(0.1, 10_000.0), (0.0123, 10_000.0), (0.0456, 10_000.0)]
    assert spans(rates)[0] == (8995.0, 9005.0)  # 0.0995 .. 0.1005: three digits, as the others have
    assert spans(rates, "digits")[0] == (9000.0, 9000.0)


def test_whole_numbers_may_show_that_rates_were_cut_off():
    reader = rate_reader([(0.66, 3.0), (0.12, 400.0)], "auto")
    assert reader.hits(0.66, 3.0) == (1.0, 1.0)
    assert reader.hits(0.12, 400.0) == (348.0, 356.0)
    assert "cut off or rounded up to 2 digits" in reader.note


def test_whole_numbers_may_show_that_rates_have_digits_of_their_own():
    rates = [(0.3, 3.0), (1 / 7, 7.0)]
    assert spans(rates) == [(2.0, 2.0), (6.0, 6.0)]
    assert "each to its own digits" in rate_reader(rates, "auto").note


def test_where_no_whole_number_fits_the_statement_stays_as_it_is():
    reader = rate_reader([(0.25, 3.0), (0.5, 2.0)], "auto")
    assert reader.hits(0.25, 3.0) == pytest.approx((2.235, 2.265))
    assert reader.note.endswith("; 1 of them are of no whole number of records")


@st.composite
def published(draw, roundings):
    """Records and errors of a few leaves, many of them multiples of 100, and their rates as printed."""
    n = st.one_of(st.integers(1, 60), st.integers(1, 50).map(lambda i: 100 * i), st.integers(1, 20_000))
    digits, rounding = draw(st.integers(1, 6)), draw(st.sampled_from(roundings))
    truth = [(draw(st.integers(0, size)), size) for size in draw(st.lists(n, min_size=1, max_size=5))]
    return [(wrong, size, printed(wrong, size, digits, rounding)) for wrong, size in truth]


@given(leaves=published(NEAREST), known=st.booleans(), mode=st.sampled_from(("auto", "digits")))
def test_the_truth_is_inside_however_ties_were_rounded(leaves, known, mode):
    reader = rate_reader([(rate, float(n) if known else None) for _, n, rate in leaves], mode)
    for wrong, n, rate in leaves:
        low, high = reader.hits(rate, float(n))
        assert low <= n - wrong <= high
        least, most = reader.share(rate)
        assert least - 1e-12 <= (n - wrong) / n <= most + 1e-12


@given(leaves=published((ROUND_HALF_EVEN,)), significant=st.integers(1, 6))
def test_the_truth_is_inside_however_many_significant_digits_were_kept(leaves, significant):
    rates = [(float(f"{wrong / n:.{significant}g}"), float(n)) for wrong, n, _ in leaves]
    reader = rate_reader(rates, "auto")
    for (wrong, n, _), (rate, _) in zip(leaves, rates, strict=True):
        low, high = reader.hits(rate, float(n))
        assert low <= n - wrong <= high


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(leaves=published((ROUND_FLOOR, ROUND_CEILING)))
def test_the_truth_is_inside_where_rates_show_that_they_were_cut_off(leaves):
    reader = rate_reader([(rate, float(n)) for _, n, rate in leaves], "auto")
    assume("cut off" in reader.note)
    for wrong, n, rate in leaves:
        low, high = reader.hits(rate, float(n))
        assert low <= n - wrong <= high


@given(leaves=published((ROUND_HALF_EVEN,)))
def test_what_is_read_as_exact_is_what_was_counted(leaves):
    reader = rate_reader([(rate, float(n)) for _, n, rate in leaves], "auto")
    assume(reader.note.startswith("error rates are exact"))
    assert all(reader.hits(rate, float(n)) == (n - wrong, n - wrong) for wrong, n, rate in leaves)


@given(
    n=st.integers(1, 10**9),
    share=st.floats(0, 1),
    off=st.sampled_from([0.0, 1e-9, -1e-9, 1.0000001e-9, 1e-10, 2e-16, -2e-16]),
)
def test_rates_that_are_taken_literally_are_those_of_exact_arithmetic(n, share, off):
    rate = min(max((n - int(share * n)) / n + off, 0.0), 1.0)
    hits, slack = (1 - Fraction(_shortest(rate))) * n, Fraction(1e-9 * max(1.0, float(n)))
    first, last = ceil(hits - slack), floor(hits + slack)
    fits = (float(max(first, 0)), float(min(last, n)))
    assert RateReader("exact").hits(rate, float(n)) == (fits if first <= last else (float(hits), float(hits)))


def test_of_joined_releases_no_count_is_taken_to_have_been_suppressed_in_another():
    """A count of 5 that was rounded alone stands for 3, whatever was suppressed in the release beside it."""
    rounded = parsed(DOCUMENT)
    both = join_releases([rounded, replace(rounded, suppressed_below=8)], ["one", "other"]).release
    assert both.behind(np.array([5]))[0][0] <= 3
