"""Trees that are drawn in the language of Graphviz."""
