"""maxent: what a published decision tree discloses about the people behind it."""
