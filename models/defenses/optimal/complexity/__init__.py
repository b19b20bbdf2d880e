"""What a leaf costs, and how much of it is best for other people."""
