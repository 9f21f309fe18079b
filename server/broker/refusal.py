"""The one way to say no to a send or a pull: a response code and Java's text."""

from remoting.codes import ResponseCode


class Refused(Exception):
    """A request is answered with this code and remark; nothing was stored or read.

    Attributes:
        code: response code.
        remark: the text a user will read.
    """

    def __init__(self, code: ResponseCode, remark: str) -> None:
        super().__init__(remark)
        self.code = code
        self.remark = remark
