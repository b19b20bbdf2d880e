"""Checks 2xx: the inference of an adversary, by the estimate, by proof, and in truth."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Literal

from maxent.disclosure.limits import IDS
from maxent.policy.checks.context import (
    PEOPLE,
    SHARE,
    Finding,
    Limit,
    Matter,
    PolicyCheck,
    by_limit,
    by_register,
    is_number,
    unknown,
    within,
)

FIX = (
    "`maxent defend` or `maxent defend optimal` with the limit; or publish less: `--publish labels`, fewer or "
    "smaller trees."
)
NATS = Limit("a number of nats of at least 0", is_number(0, 1e300), 0.1)
CLASSES = Limit("a number of classes of at least 1", is_number(1, 1e9), 1.2)


def _measured(key: str, name: str, bound: Literal["at most", "at least"], of: Matter, limit: float) -> Finding:
    """The finding about a measure of the estimate."""
    if of.review.estimate is None:
        return unknown(name, of.review.unsolved)
    if not of.reliable:  # then it proves nothing, whichever side of the limit it is on
        return unknown(name, "the estimate is not to be relied on")
    found = of.row.get(key)
    if found is None:
        return unknown(name, "there is no truth to compare with (--truth)")
    value = float(found)
    if value == inf:
        return unknown(name, "the estimate rules out what is true of somebody")
    return within(name, value, value, limit, bound=bound, sure=not of.doubt, why=of.doubt, by="by the estimate")


# The checks of this family.
CHECKS = (
    PolicyCheck(
        IDS["max_posterior"], "max_posterior", "largest posterior",
        Limit("a probability from 0 to 1", is_number(0, 1), 0.95), by_limit("max_posterior"),
        "The largest probability that anybody's class gets: 1 where a leaf, a group or the truth gives somebody's "
        "class away. It cannot be told where published numbers allow more than the estimate says.",
        "An adversary who is nearly sure acts as if it were known.",
        "The limit --max-posterior: docs/report.md; alpha of (alpha, k)-anonymity, Wong et al. (2006).",
        FIX,
    ),
    PolicyCheck(
        IDS["max_certain"], "max_certain", "individuals whose class is certain", PEOPLE, by_limit("max_certain"),
        "People whose class has a probability of 0.999 or more by the estimate, or is given away by their leaf, their "
        "group, the truth or a proof, whichever are most. Cannot be told where proofs did not end in time.",
        "Of these people the release publishes the confidential value.",
        "The limit --max-certain: docs/report.md; Zhu and Du (2010).",
        FIX,
    ),
    PolicyCheck(
        "MX203", "max_certain_proved", "individuals whose class is certain, as proved", PEOPLE,
        by_limit("max_certain", proved=True),
        "People whose class is the same in all data that agree with the release. Stating this limit asks for the "
        "proof, up to the level `proof` of the table [adversary] (default `auto`).",
        "An estimate may be sure of what is not so, and in doubt about what follows; a proof is neither.",
        "docs/bounds.md.",
        FIX,
        statbarn="Frequencies",
    ),
    PolicyCheck(
        IDS["max_right_guesses"], "max_right_guesses", "share of right guesses", SHARE, by_limit("max_right_guesses"),
        "The share of people whose class is guessed right: in truth, with --truth; otherwise as expected.",
        "It is what the release is worth to somebody who guesses about everybody.",
        "Bayes vulnerability: Smith (2009); the limit --max-right-guesses: docs/report.md.",
        FIX,
    ),
    PolicyCheck(
        IDS["max_lift"], "max_lift", "right guesses above the base rate", SHARE, by_limit("max_lift"),
        "By how much right guesses exceed the share of the most frequent class, which guesses without the release "
        "achieve. Something has to state that share: counts, a marginal, or the truth.",
        "Right guesses that need no release are not its fault.",
        "docs/evidence.md.",
        FIX,
    ),
    PolicyCheck(
        "MX206", "min_divergence", "overall divergence of the truth from the posterior, nats", NATS,
        partial(_measured, "divergence", "overall divergence of the truth", "at least"),
        "The Kullback-Leibler divergence of the truth from the posterior over everybody (D_overall). Needs --truth.",
        "The nearer the posterior is to the truth, the more the release has told.",
        "Zhu and Du (2010), D_overall.",
        FIX,
    ),
    PolicyCheck(
        "MX207", "max_t_closeness", "t-closeness", SHARE,
        partial(_measured, "t_closeness", "t-closeness", "at most"),
        "The largest distance between a person's posterior and the shares of the classes among everybody.",
        "It is how far the release tells anybody apart from the others.",
        "Li, Li and Venkatasubramanian (2007).",
        FIX,
        statbarn="Frequencies",
    ),
    PolicyCheck(
        "MX208", "min_l_diversity", "entropy l-diversity", CLASSES,
        partial(_measured, "entropy_l_diversity", "entropy l-diversity", "at least"),
        "exp(entropy) of the most exposed person's posterior: the number of equally probable classes that leave as "
        "much doubt.",
        "Of somebody with one class left there is no doubt.",
        "Machanavajjhala et al. (2007).",
        FIX,
        statbarn="Frequencies",
    ),
    PolicyCheck(
        IDS["max_member"], "max_member", "largest probability of being in the data",
        Limit("a probability from 0 to 1", is_number(0, 1), 0.95), by_register("max_member"),
        "The largest P(member) of anybody in a register that holds the people of the data (--population): 1 where a "
        "leaf has as many records as the register has people there. Cannot be told without a register.",
        "That somebody is in the data can be the secret: those of a clinic, a prison, a debt register.",
        "docs/population.md; delta-presence: Nergiz, Atzori and Clifton (2007).",
        FIX,
    ),
)  # fmt: skip
