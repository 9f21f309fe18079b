"""The exception that refuses a send or a pull with a response code and Java's text."""

from remoting.codes import ResponseCode
from server.store.store import MessageStore


class Refused(Exception):
    """A request is refused with this code and remark; nothing was stored or read.

    Attributes:
        code: response code.
        remark: the text that the user reads.
    """

    def __init__(self, code: ResponseCode, remark: str) -> None:
        super().__init__(remark)
        self.code = code
        self.remark = remark


def store_refuses(store: MessageStore, why: str) -> str:
    """Return the remark of code 14: the real reason, then Java's text with the disk's ratios.

    Java's text only lists possible reasons, and names a full disk first in every case.
    """
    used = store.cleaner.disk_used()
    return (
        f"{why}; service not available now. It may be caused by one of the following reasons: the "
        f"broker's disk is full [CL: {used:5.2f} CQ: {used:5.2f} INDEX: {used:5.2f}], messages "
        f"are put to the slave, message store has been shut down, etc."
    )
