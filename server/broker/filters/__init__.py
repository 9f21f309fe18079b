"""What a consumer wants beyond tags: SQL92 expressions over the properties of a message."""
