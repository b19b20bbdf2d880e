"""Many small programs, from several starts each, in one run: every step is taken for all of them at once."""
