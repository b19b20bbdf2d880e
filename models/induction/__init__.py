"""Growing decision trees from records: CART, ID3 and C4.5."""
