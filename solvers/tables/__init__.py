"""Tables of people with unknown attributes: one consistent table, and facts that hold in all of them."""
