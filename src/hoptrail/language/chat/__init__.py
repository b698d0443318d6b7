"""The performer `chat`: every language task by a chat model."""
