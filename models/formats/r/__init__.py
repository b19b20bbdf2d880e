"""Trees of R: text that rpart and partykit print, rpart's tables, and tables of forests."""
