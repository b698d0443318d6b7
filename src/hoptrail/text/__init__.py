"""Plain text: sentences, words, names and their normal forms, dates and numbers. Knows nothing of formats, models or recipes."""
