"""Commands whose first word is ``diff``; one file each."""
