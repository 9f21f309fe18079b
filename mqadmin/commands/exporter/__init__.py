"""Commands whose first word is ``exporter``; one file each."""
