"""Commands whose first word is ``group``; one file each."""
