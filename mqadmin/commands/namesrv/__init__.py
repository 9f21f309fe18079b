"""Commands whose first word is ``namesrv``."""
