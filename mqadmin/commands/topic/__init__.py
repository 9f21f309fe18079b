"""Commands whose first word is ``topic``; one file each."""
