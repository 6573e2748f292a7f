"""What somebody takes with them: conversations with their files, and all that is theirs."""
