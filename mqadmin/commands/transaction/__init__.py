"""Commands whose first word is ``transaction``; one file each."""
