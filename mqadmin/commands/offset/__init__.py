"""Commands whose first word is ``offset``."""
