"""The language tasks without a model: rules of general English, and an encoder when there is one."""
