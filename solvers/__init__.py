"""Back ends: a `Program` in, a `Solution` out."""
