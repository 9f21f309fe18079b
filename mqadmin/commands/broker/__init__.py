"""Commands whose first word is ``broker``; one file each."""
