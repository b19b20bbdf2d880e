"""Commands: decisions about a release."""
