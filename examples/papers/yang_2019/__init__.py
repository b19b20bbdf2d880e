"""Yang and others (2019): pruning by error-risk ratios, and records in tiers."""
