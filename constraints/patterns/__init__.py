"""People with unknown attributes: their possible patterns of values, and the statements about these."""
