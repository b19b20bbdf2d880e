"""What an adversary infers from a release, and from what."""
