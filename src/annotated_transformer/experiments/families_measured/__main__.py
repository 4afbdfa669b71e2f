"""Train the stacks, ask them, and record what they know."""

from annotated_transformer.experiments.families_measured import main

if __name__ == "__main__":
    main()
