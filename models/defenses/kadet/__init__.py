"""k-anonymous decision tree induction (kADET)."""
