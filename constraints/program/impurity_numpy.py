"""Every `phi` with its derivatives, vectorised: arrays of positive numbers of one shape in, one out.

Written by ``python -m maxent.constraints.program.impurity`` from the statements there; do not edit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numpy import log

Function = Callable[..., Any]


class Phi(NamedTuple):
    """``phi(a, w)`` and its first and second derivatives; ``log`` may be another library's logarithm."""

    value: Function
    d_a: Function
    d_w: Function
    d_aa: Function
    d_aw: Function
    d_ww: Function


PHI = {
    "entropy": Phi(
        value=lambda a, w, log=log: a*log(a/w),
        d_a=lambda a, w, log=log: log(a/w) + 1,
        d_w=lambda a, w, log=log: -a/w,
        d_aa=lambda a, w, log=log: 1/a,
        d_aw=lambda a, w, log=log: -1/w,
        d_ww=lambda a, w, log=log: a/w**2,
    ),
    "gini": Phi(
        value=lambda a, w, log=log: a**2/w,
        d_a=lambda a, w, log=log: 2*a/w,
        d_w=lambda a, w, log=log: -a**2/w**2,
        d_aa=lambda a, w, log=log: 2/w,
        d_aw=lambda a, w, log=log: -2*a/w**2,
        d_ww=lambda a, w, log=log: 2*a**2/w**3,
    ),
}
