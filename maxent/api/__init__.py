"""The functions behind `import maxent`, each in a module of its name, and what they share: cases and their programs."""
