"""How records were counted, the key `release` of a document, and what follows for the numbers of nodes."""
