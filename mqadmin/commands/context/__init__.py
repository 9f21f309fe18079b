"""Commands whose first word is ``context``; one file each."""
