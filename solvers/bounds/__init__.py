"""Upper bounds of the entropy where a program is not convex."""
