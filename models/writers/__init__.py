"""Writers of releases for use elsewhere: a module for each form."""
