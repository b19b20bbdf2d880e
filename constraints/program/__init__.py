"""The program: its cells, sums and statements, impurities, and what an answer violates."""
