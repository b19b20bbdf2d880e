"""Commands: what an adversary infers from a release, and from what."""
