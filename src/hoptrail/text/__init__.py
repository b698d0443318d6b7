"""Plain text: sentences, words, names, normal forms, dates and numbers. Independent of file formats, models and recipes."""
