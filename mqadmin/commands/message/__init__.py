"""Commands whose first word is ``message``."""
