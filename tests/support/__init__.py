"""What several test files share: builders of releases and people, checks, and searches."""
