#!/bin/sh
# Slurm's Epilog (slurm.conf: Epilog=/etc/slurm/epilog.d/50-sonde.sh): reports the end of a job to the agent of this node.
timeout 5 sonde job end --quiet || :
exit 0
