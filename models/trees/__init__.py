"""Released trees: places and routes, predictions, restated and rounded releases, re-identification."""
