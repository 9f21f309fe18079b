"""Commands that run the jobs of ``mqspark`` over stores and archives, on Spark or in one process.

Each job is a process of its own (``mqadmin.store.spark_job``), because this package never imports
``mqspark``; its lines of JSON become the rows of the command.
"""
