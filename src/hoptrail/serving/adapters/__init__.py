"""hoptrail as a retriever of other libraries, one module for each. Importing one imports its library, which is an extra."""
