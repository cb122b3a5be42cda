"""`python -m fedperi` is the command line, for where the script is not on the path."""

from .cli import main

if __name__ == "__main__":
    main()
