"""The jobs: each is a function that returns rows, with Spark and without."""
