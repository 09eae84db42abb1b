"""``python -m plaggm`` is the command ``plaggm``."""

from plaggm.cli import main

if __name__ == "__main__":
    main()
