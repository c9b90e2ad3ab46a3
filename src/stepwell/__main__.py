"""Run the command line as `python -m stepwell`."""

from stepwell.cli.main import run

if __name__ == "__main__":
    run()
