"""Tables of people larger than memory: coded, sorted and grouped on disk."""
