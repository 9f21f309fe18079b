"""The errors of the pipeline.

    PipelineError
    ├── NoSpark      PySpark is not installed
    ├── NoJava       there is no Java runtime for Spark
    ├── NoMaster     no master of Spark answers at the address that was given
    ├── BadOption    a source was given an option that it does not know
    ├── DataLost     a broker no longer has messages that were to be read
    └── BadArchive   a directory is not an archive, or another process writes to it

``exit_code`` is the exit code of ``mqadmin pipeline`` (see docs/cli.md).
"""


class PipelineError(Exception):
    """Root of this package's errors."""

    exit_code = 1


class NoSpark(PipelineError):
    """PySpark is not installed."""


class NoJava(PipelineError):
    """There is no Java runtime for Spark."""


class NoMaster(PipelineError):
    """No master of Spark answers at the address that was given, or Spark cannot read it."""


class BadOption(PipelineError):
    """A data source was given an option that it does not know, or a value it cannot take."""

    exit_code = 2


class DataLost(PipelineError):
    """A broker no longer has messages that were to be read."""


class BadArchive(PipelineError):
    """A directory is not an archive, or another process writes to it."""
