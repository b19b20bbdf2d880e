"""The same tree through other tools."""
