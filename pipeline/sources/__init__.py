"""Data sources of PySpark. They import only stdlib and storefmt until Spark needs more."""
