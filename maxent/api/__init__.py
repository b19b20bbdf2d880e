"""The functions behind `import maxent`: one module each."""
