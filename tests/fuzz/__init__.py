"""Fuzzers: cases made of a number each, tried through the command line, and the law that every outcome keeps."""
