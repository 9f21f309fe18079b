"""Commands whose first word is ``undo``; one file each."""
