"""Commands whose first word is ``lock``; one file each."""
