"""Commands whose first word is ``cluster``."""
