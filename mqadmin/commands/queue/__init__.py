"""Commands whose first word is ``queue``; one file each."""
