"""The interface to a payment provider. No provider is connected: sellers record payments."""
