"""The constraint compiler: a release, or generalised records, and the adversary's table in, a `Program` out."""
