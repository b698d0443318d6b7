"""hoptrail as a component of other libraries, one module per library. Importing a module imports its library, an extra."""
