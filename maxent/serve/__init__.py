"""``maxent serve``: reviews in a browser on this machine, for people who do not program."""
