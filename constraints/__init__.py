"""The constraint compiler: a release and the adversary's table in, a `Program` out."""
