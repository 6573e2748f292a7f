"""Read-only checks that SQL and DynamoDB agree, in both directions."""
