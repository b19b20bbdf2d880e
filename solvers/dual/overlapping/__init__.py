"""Programs with very many overlapping statements, such as the counts of several trees."""
