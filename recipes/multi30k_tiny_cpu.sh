#!/usr/bin/env bash
# Multi30k, English to German, the tiny model on a CPU. No GPU is needed.
#
# Usage:     bash recipes/multi30k_tiny_cpu.sh
# Time:      recorded once: 118 minutes of processor time on one core of a shared machine
#            (results/multi30k_tiny_postnorm_rdrop_84); 65 with --epochs 44, for 40.30 in place of 41.12
#            (results/multi30k_tiny_postnorm_rdrop)
# Cost:      none but the electricity
# Score:     one seed: 41.12 on test_2016_flickr,
#            nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0; 41.49 lower-cased and tokenised
#            (beam 5; alpha and the limit of length chosen on valid).
#            Literature: 41.02 lower-cased and tokenised,
#            Transformer-Tiny (Wu and others, 2021, "Good for Misconceived Reasons").
# Departs from the paper: R-Drop, branches that begin at a quarter of their size, a peak rate of 4e-3
#            after 400 steps, a linear decay, byte dropout; see book/multi30k_run.md.
set -euo pipefail
cd "$(dirname "$0")/.."  # the run lies in runs/multi30k_tiny_cpu/
if [ -d .venv/bin ]; then export PATH="$PWD/.venv/bin:$PATH"; fi  # activated or not
run=runs/multi30k_tiny_cpu

annotated-transformer data get multi30k

# Killed, or the machine taken away: the same command goes on from the last checkpoint.
if [ -f "$run/config.json" ]; then
  annotated-transformer train --run-dir "$run" --resume
else
  annotated-transformer train --run-dir "$run" \
    --data multi30k --preset tiny --epochs 84 --max-tokens 2048 \
    --dropout 0.2 --learning-rate 4e-3 --warmup 400 --decay 0.6 --init-gain 0.5 --r-drop 5 \
    --byte-dropout --precision bf16 --keep 10 --average 10 --threads 1 --device cpu
fi

annotated-transformer evaluate --run-dir "$run" --split test_2016_flickr --beam 5 --alpha-from valid --max-extra 5 10 20 50 --threads 1
