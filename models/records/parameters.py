"""Parameters of generalising records."""

from __future__ import annotations

from typing import Literal

Distance = Literal["gower", "ranks"]
Generalization = Literal["tiered", "uniform"]
