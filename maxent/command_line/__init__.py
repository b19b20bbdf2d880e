"""Parts that all commands share: arguments, options, help, messages, progress and exit codes."""
