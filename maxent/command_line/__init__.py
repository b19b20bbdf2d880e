"""How commands are called: arguments, help, and messages, the same for all of them."""
