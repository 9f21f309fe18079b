"""Data sources of PySpark. Only stdlib and storefmt are imported before Spark asks for more."""
