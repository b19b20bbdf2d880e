"""scikit-learn models as releases: fitted models, pipelines, and the text and graphs of their trees."""
