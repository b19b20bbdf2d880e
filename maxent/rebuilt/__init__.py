"""Tables of people rebuilt from a release: the result, its text, and the recount of what it agrees with."""
