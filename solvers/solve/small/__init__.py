"""Small parts, all of their starts at once."""
