"""Commands: releases made, read and used."""
