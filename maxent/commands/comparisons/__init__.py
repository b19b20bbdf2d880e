"""Commands: releases, studies and solver back ends side by side."""
