"""Error-risk pruning (ERP): the branch with the largest re-identification risk per added error goes first."""
