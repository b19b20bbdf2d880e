"""Records without values that no branch of a test takes: where the tool sends them."""
