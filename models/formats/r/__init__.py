"""Trees of R: what rpart prints, and the tables of its objects."""
