"""``python -m mechgraph``: the command, where it is not on the path."""

from .cli import main

if __name__ == "__main__":
    main(prog_name="mechgraph")
