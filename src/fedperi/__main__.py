"""Run the command line as `python -m fedperi`, where the script `fedperi` is not on the path."""

from .cli import main

if __name__ == "__main__":
    main()
