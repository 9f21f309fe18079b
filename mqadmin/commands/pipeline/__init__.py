"""``pipeline …``: the jobs on Spark, each started as a process of its own."""
