"""Commands whose first word is ``store``; one file each."""
