"""Sound documents, read into arrays: decoding, and vectorised checks of what is relied upon."""
