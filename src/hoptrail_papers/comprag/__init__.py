"""CompRAG: triples of corpus and question as composed vectors."""
