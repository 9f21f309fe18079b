"""Work that waits for the disk, as jobs that any thread can run.

    store (one thread)          any thread            store (one thread)
    begin_flush / housekeeping ──> job.do_work() ──> end_flush(job)

Rule: a job uses only the files it was given and no object that the event loop changes. It never
raises a disk error but keeps it, and the caller that ends the job decides what the error means.
"""

from abc import ABC, abstractmethod


class DiskJob(ABC):
    """One piece of work that waits for the disk."""

    error: OSError | None = None
    """Why the work was not done; None if there was no error."""

    def do_work(self) -> None:
        """Do the work; blocks for as long as the disk takes."""
        try:
            self.work()
        except OSError as error:
            self.error = error

    @abstractmethod
    def work(self) -> None:
        """Do the work.

        Raises:
            OSError: the disk refused.
        """
