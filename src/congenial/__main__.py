"""`python -m congenial`: the command line where scripts are not on the path."""

from congenial.cli import main

if __name__ == "__main__":
    main()
