"""Commands whose first word is ``delay``; one file each."""
