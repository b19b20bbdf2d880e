"""Zhu and Du (2010): what trees on Adult disclose."""
