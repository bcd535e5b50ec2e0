/* Samples as LDMS writes them, one row per sample and one column per metric, in a tree of files: one per user, job, host and
 * set, or one per set. Used by sinks/csv/csv.c when it is given a folder. */
#ifndef SONDE_SINKS_CSV_TREE_H
#define SONDE_SINKS_CSV_TREE_H

#include "compat/ldms/batch.h"
#include "sinks/csv/files.h"

#define CSV_TREE_TEMPLATE "%{user}/%{job}/%{host}/%{set}.csv"
#define CSV_TREE_NODE_TEMPLATE "node/%{host}/%{set}.csv"
#define CSV_TREE_LDMS_TEMPLATE "%{container}/%{set}"

struct csv_tree {
    const char *template, *node_template, *container; /* borrowed */
    bool is_ldms;     /* sets have LDMS's names and rows */
    bool copies;      /* samples of a node go to the jobs on it too */
    bool eager;       /* write at the end of each batch */
    uint64_t commit_ns;
    struct ldms_batch ldms; /* of is_ldms: rows as it has them */
    struct csv_files files;
    uint64_t taken;   /* position */
    uint64_t committed_ns; /* CLOCK_MONOTONIC */
    struct buf path, header, row;
    struct csv_tree_header { /* of the set that was met last at this place: sets come in the same order again */
        const struct set *set;
        const char *name; /* of the set, in paths */
        const struct metric *metrics;
        size_t size;
        bool has_units; /* some of its values are not in the kernel's units */
        struct buf text;
        struct csv_file_header header; /* of text */
    } headers[256];
};

/* dir is made. The other fields, and files' limits, are set by the caller before. */
enum err csv_tree_open(struct csv_tree *tree, const char *dir, uint64_t rotate_bytes, uint64_t rotate_ns);
enum err csv_tree_write(struct csv_tree *tree, const struct batch *batch);
enum err csv_tree_flush(struct csv_tree *tree, uint64_t deadline_ns);
void csv_tree_close(struct csv_tree *tree);

#endif
