"""RocketMQ stores in Spark: data sources, jobs, and a session for both."""
