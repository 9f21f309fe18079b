"""Commands whose first word is ``topic``."""
