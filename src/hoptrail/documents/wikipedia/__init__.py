"""Converts a MediaWiki dump into documents and profiles: reads it page by page and extracts prose and infoboxes.

HiRAG section 4.3 searches such a corpus: whole pages ("Indexed Wikicorpus") and their infoboxes ("Profile Wikicorpus").
"""
