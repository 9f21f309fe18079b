"""Commands whose first word is ``doctor``; one file each."""
