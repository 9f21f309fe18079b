"""Commands whose first word is ``shell``; one file each."""
