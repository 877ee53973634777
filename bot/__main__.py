"""`python -m bot` is the command line `mneme`."""

from bot.cli.main import main

if __name__ == "__main__":
    main()
