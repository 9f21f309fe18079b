"""Commands whose first word is ``embedded``; one file each."""
