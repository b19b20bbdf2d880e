"""Models of XGBoost: files that it saves, and dumps of its trees."""
