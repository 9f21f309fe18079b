"""Commands whose first word is ``dead-letter``."""
