"""File formats of releases: a module, or a folder, for each."""
