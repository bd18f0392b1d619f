"""What runs: one flow a module, and the command line."""
