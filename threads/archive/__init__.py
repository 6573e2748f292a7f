"""The archive: moves the contents of old messages from the table to packs, and back."""
