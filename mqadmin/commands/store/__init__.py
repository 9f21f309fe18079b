"""Commands whose first word is ``store``."""
