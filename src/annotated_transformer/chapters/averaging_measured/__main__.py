"""Score the averages of a run's last checkpoints and record them."""

from annotated_transformer.chapters.averaging_measured import main

if __name__ == "__main__":
    main()
