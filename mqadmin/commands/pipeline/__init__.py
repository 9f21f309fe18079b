"""``pipeline …``: run the jobs of the pipeline, each as a process of its own."""
