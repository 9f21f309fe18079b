"""Commands whose first word is ``broker``."""
