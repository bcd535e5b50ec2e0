#!/bin/sh
# Slurm's Prolog (slurm.conf: Prolog=/etc/slurm/prolog.d/50-sonde.sh): tells the agent of this node that a job begins.
# The agent finds jobs by their control groups without it; with it, a job is one from its beginning to its end also when
# its steps come and go (salloc without PrologFlags=Contain), and without control groups at all. SLURM_JOB_ID,
# SLURM_JOB_USER and SLURM_JOB_UID are in the environment. It must not fail: Slurm would drain the node.
timeout 5 sonde job begin --quiet || :
exit 0
