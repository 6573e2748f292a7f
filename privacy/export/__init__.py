"""Data exports: a single thread with its files, or everything of an account."""
