"""Forms in which releases are used elsewhere: SQL, PMML, rules, tables, graphs and drawings."""
