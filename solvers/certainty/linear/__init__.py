"""The level ``linear``: linear programs over everything linear, solved by HiGHS and proved by weak duality."""
