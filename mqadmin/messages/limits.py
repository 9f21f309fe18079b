"""How much a command may show or look at before it ends by itself."""

from mqadmin.errors import Usage


class Limit:
    """So much may be taken, any amount where it is None.

    Args:
        option: what the user typed it for.

    Raises:
        Usage: it is below zero.
    """

    def __init__(self, amount: int | None, option: str) -> None:
        if amount is not None and amount < 0:
            raise Usage(f"{option} {amount} is negative")
        self._left = amount

    def take(self, amount: int = 1) -> bool:
        """Take some; False, and nothing more from then on, where there is not enough left."""
        if self._left is None:
            return True
        is_enough = amount <= self._left
        self._left = self._left - amount if is_enough else -1
        return is_enough
