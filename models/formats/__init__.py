"""File formats of releases: readers, a module or folder for each, and in `writers` the forms of output."""
