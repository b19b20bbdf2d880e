"""Text of people and files: its spellings, what it may have meant, how messages and terminals show it."""
