"""`python -m tamis.serve`: see tamis.serve.process.lifecycle."""

from tamis.serve.process.lifecycle import main

if __name__ == "__main__":
    main()
