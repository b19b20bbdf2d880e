"""Estimates in parts: people are routed to leaves once, and leaves are evaluated group by group, in bounded memory."""
