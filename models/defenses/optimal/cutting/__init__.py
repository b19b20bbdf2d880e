"""The tree that only k cuts back, which the search keeps to where nothing speaks against it."""
