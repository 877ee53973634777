"""`python -m bot` is the command line `mneme`."""

from bot.cli import main

if __name__ == "__main__":
    main()
