"""What users show of themselves beyond their account."""
