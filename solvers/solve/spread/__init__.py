"""Parts of a program, spread over processes."""
