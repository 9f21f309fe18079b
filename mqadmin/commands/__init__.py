"""The commands: one folder for each first word of a command; see ``mqadmin.cli.declare``."""
