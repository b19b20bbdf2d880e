"""Tables larger than memory: coded in pieces, routed to leaves, and merged one group of leaves at a time."""
