"""Old messages: into packs, out of them, and always readable."""
