"""Cards in the conversation: carried to the table, and shown there."""
