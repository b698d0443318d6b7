"""From a dump of a MediaWiki to documents and profiles: reading it page by page, wikitext to prose, infoboxes, writing.

HiRAG section 4.3 searches such a corpus: whole pages ("Indexed Wikicorpus") and what their infoboxes say ("Profile Wikicorpus").
"""
