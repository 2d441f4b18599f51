"""What studies return: typed, self-describing, with their diagnostics."""
