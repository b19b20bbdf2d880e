"""Models that skops saved: an archive of a description and arrays."""
