"""Files of boosted models: leaves hold scores that add up over all trees."""
