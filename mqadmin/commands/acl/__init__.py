"""Commands whose first word is ``acl``; one file each."""
