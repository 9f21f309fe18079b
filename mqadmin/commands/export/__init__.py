"""Commands whose first word is ``export``."""
