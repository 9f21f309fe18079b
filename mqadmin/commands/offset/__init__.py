"""Commands whose first word is ``offset``; one file each."""
