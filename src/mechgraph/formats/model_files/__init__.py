"""Model files: a ``System`` as YAML or JSON, section by section, argument by argument, and back."""
