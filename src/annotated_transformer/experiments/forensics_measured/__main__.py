"""Score a recorded output under every protocol and record it."""

from annotated_transformer.experiments.forensics_measured import main

if __name__ == "__main__":
    main()
