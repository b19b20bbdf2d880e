"""Arguments, help and messages of all commands."""
