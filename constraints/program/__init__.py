"""The program: its cells, sums and statements, impurities, and the residuals of an answer."""
