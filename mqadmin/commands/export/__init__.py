"""Commands whose first word is ``export``; one file each."""
