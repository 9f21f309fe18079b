"""RocketMQ stores in Spark: data sources, jobs, and a session in which they work."""
