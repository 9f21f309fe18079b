"""Commands whose first word is ``group``."""
