"""Commands about a model as such: what it states in another format, and what it predicts."""
