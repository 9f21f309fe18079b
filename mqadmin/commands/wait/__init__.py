"""Commands whose first word is ``wait``; one file each."""
