"""Commands whose first word is ``apply``; one file each."""
