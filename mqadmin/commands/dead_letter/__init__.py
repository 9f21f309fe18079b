"""Commands whose first word is ``dead-letter``; one file each."""
