import sys

from annotated_transformer.cli import main

if __name__ == "__main__":
    sys.exit(main())
