"""Upper bounds of the entropy of programs that are not concave: how far an answer can be from the best."""
