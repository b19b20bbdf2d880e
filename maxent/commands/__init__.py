"""The commands, one per module: their arguments and their work. `main` lists them and puts them together.

The ``command`` of a module is a function that Typer calls with the parsed arguments; it returns the `Job` that
`maxent.commands.main.run` does. Anything heavy is imported by the job, so that the help of a command is answered
without NumPy.
"""
