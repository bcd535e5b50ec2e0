/* Which node of Slurm this agent is for, if several slurmd share the machine, as on test systems: they share the cgroup
 * tree, too, and agents that saw the jobs of all would count each several times. */
#ifndef SONDE_JOBS_SLURM_NODE_H
#define SONDE_JOBS_SLURM_NODE_H

#include "base/err.h"
#include "jobs/job_source.h"

#define SLURM_NODES_MAX 64

struct slurm_nodes {
    char names[SLURM_NODES_MAX][JOB_SOURCE_NAME_MAX];
    size_t count;
};

/* Determines node: $SONDE_NODE, else $SLURMD_NODENAME, else the name of the only slurmd with -N, or of the one with our
 * host name. "": the jobs of all nodes. USAGE: several slurmd, listed in nodes, and none of them is ours.
 * root: prefix of /proc. */
enum err slurm_node_find(const char *root, char node[JOB_SOURCE_NAME_MAX], struct slurm_nodes *nodes);

/* Extracts NAME of "-N NAME" from the command line of a slurmd, with a NUL after each argument. False: it has none, or it is
 * another program. Accepts any text. */
bool slurm_node_parse(const char *cmdline, size_t size, char name[JOB_SOURCE_NAME_MAX]);

#endif
