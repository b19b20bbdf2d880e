"""Released trees: routing records, predicting, restating, measuring."""
