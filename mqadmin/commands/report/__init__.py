"""Commands whose first word is ``report``; one file each."""
