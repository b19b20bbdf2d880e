"""Optimal trees of small depth within limits on their leaves, grown from the records."""
