"""The project panel: tabs next to a project thread, each stored as a versioned snapshot."""
