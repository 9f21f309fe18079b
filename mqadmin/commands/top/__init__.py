"""Commands whose first word is ``top``; one file each."""
