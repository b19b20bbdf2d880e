"""Two successive releases: what their difference tells of each person."""
