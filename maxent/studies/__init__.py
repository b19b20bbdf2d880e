"""Studies: a grid of data, defenses and adversaries from a TOML file, a result row per point."""
