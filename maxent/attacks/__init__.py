"""The structural attacks on a release: what its numbers tell without solving for anything."""
