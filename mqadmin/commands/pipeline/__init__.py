"""Commands that run the jobs of ``mqspark`` over stores and archives, on Spark or in one process.

``mqadmin`` never imports ``mqspark``: ``mqadmin.store_access.spark_job`` starts each job as a
process of its own and turns its lines of JSON into rows.
"""
