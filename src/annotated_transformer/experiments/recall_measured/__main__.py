"""Train the readers, ask them, and record what they recall."""

from annotated_transformer.experiments.recall_measured import main

if __name__ == "__main__":
    main()
