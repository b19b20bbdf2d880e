"""Solvers: a `Program` in, a `Solution` out; bounds, proofs, and whole tables of people."""
