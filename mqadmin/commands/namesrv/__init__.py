"""Commands whose first word is ``namesrv``; one file each."""
