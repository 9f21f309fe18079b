"""Jobs: each a function that gives rows, with Spark and without."""
