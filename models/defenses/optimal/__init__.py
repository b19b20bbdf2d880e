"""The best tree that may be published: of all subtrees of a grown tree, the best one within limits."""
