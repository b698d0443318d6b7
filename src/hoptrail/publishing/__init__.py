"""Commits of an index on an object store, where any number of machines fetch them from.

    current.json                     the pointer: which manifests are kept, the current one first
    manifests/NUMBER-SHA256.json     a publication: its files, and the chunks of each
    chunks/NUMBER/SHA256             a piece of a file, under the number of the publication that sent it

Everything but the pointer is written once and never changed. The pointer is written last, in place of the one that the publisher
had read, or not at all: so of two publishers one wins. A publication takes over chunks only from the one before it, and sends all
others under its own number. What a publication has dropped is therefore never named again, and a chunk whose number is past and
that its own publication does not name was sent by a publisher that failed: both can be removed without looking at anything else.
"""
