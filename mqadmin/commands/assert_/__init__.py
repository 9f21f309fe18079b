"""Commands whose first word is ``assert``; one file each."""
