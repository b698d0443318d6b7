"""Publishing commits of an index to an object store, from which any number of machines fetch them.

    current.json                     the pointer: the manifests that are kept, the current one first
    manifests/NUMBER-SHA256.json     a publication: its files, and the chunks of each
    chunks/NUMBER/SHA256             a piece of a file, under the number of the publication that sent it

Everything but the pointer is written once and never changed. The pointer is written last, and only if it is still the one that
the publisher had read, so that one of two publishers wins. A publication reuses chunks only of the one before it, and sends all
others under its own number. So a chunk that a publication has dropped is never used again, and a chunk with an earlier number
that its publication does not name is from a publisher that failed. Both can be removed without further checks.
"""
