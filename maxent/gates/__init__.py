"""Where models are handed on: the words, and the numbers, that go with them."""
