"""Very many statements that overlap, such as the counts of several trees: what is done beside Newton's method."""
