"""What all tests share: the strategies are importable, and Hypothesis is repeatable unless told otherwise."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import Phase, settings

sys.path.insert(0, str(Path(__file__).parent))  # --import-mode=importlib leaves it out

settings.register_profile("repeatable", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("explore", deadline=None, print_blob=True)  # pytest --hypothesis-profile=explore
settings.register_profile("unshrunk", deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
settings.load_profile("repeatable")
