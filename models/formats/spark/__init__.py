"""Models of Spark MLlib: folders that it saves, and what it prints of trees."""
