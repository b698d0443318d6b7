"""The language `chat`: every language task by a chat model."""
