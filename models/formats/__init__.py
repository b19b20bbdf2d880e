"""File formats of releases, and the checks of what a file states."""
