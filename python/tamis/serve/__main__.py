"""`python -m tamis.serve`: see tamis.serve.process."""

from tamis.serve.process import main

if __name__ == "__main__":
    main()
