"""What an iteration looks like to people: a table in the terminal and one HTML page."""
