"""The project panel: tabs beside a project thread, each a snapshot with a version."""
