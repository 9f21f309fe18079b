"""Commands whose first word is ``message``; one file each."""
