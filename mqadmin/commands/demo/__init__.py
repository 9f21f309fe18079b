"""Commands whose first word is ``demo``; one file each."""
