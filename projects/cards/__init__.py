"""Cards in a thread: the outbox handler that stores them in DynamoDB, and their rendering."""
