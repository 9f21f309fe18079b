"""Commands whose first word is ``cluster``; one file each."""
