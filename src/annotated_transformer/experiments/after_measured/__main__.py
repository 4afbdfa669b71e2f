"""Count and time the rows, and record them."""

from annotated_transformer.experiments.after_measured import main

if __name__ == "__main__":
    main()
