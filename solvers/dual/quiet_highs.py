"""Loads HiGHS without its messages on standard output."""

from __future__ import annotations

from typing import Any


def quiet_highs(**settings: bool | int | str) -> Any:  # Any: highspy is loaded only where it is used
    """An instance of ``highspy.Highs`` with some options, which uses one processor and prints nothing.

    From 1.16 on it prints its name when callbacks are enabled, which is before anybody can set its options.
    """
    import highspy

    class Quiet(highspy.Highs):
        def enableCallbacks(self) -> None:  # the name is highspy's
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()  # type: ignore[no-untyped-call]

    solver = Quiet()  # type: ignore[no-untyped-call]
    for name, value in {"output_flag": False, "threads": 1, **settings}.items():
        solver.setOptionValue(name, value)
    return solver
