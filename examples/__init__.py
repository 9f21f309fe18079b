"""Small programs that show the client at work; each is run by a test."""
