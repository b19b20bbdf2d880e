"""Ways of making something wrong: odd values, documents, columns, bytes."""
