"""Score the averages of a run's last checkpoints and record them."""

from annotated_transformer.experiments.averaging_measured import main

if __name__ == "__main__":
    main()
