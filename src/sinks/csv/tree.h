/* CSV files in the style of LDMS, one row per sample and one column per metric, in a tree of files: one per user,
 * job, host and metric set, or one per set. Used by sinks/csv/csv.c with dir=DIRECTORY. */
#ifndef SONDE_SINKS_CSV_TREE_H
#define SONDE_SINKS_CSV_TREE_H

#include "compat/ldms/batch.h"
#include "sinks/csv/files.h"

#define CSV_TREE_TEMPLATE "%{user}/%{job}/%{host}/%{set}.csv"
#define CSV_TREE_NODE_TEMPLATE "node/%{host}/%{set}.csv"
#define CSV_TREE_LDMS_TEMPLATE "%{container}/%{set}"

struct csv_tree {
    const char *template, *node_template, *container; /* borrowed */
    bool is_ldms;     /* use LDMS's schema names and rows */
    bool copies;      /* also write samples of a node to the jobs on it */
    bool eager;       /* write after each batch */
    uint64_t commit_ns;
    struct ldms_batch ldms; /* is_ldms: the batch in LDMS's rows */
    struct csv_files files;
    uint64_t position; /* of the last batch written */
    uint64_t committed_ns; /* CLOCK_MONOTONIC */
    struct buf path, header, row;
    struct csv_tree_header { /* a cache, indexed by the address of the set */
        const struct set *set;
        const char *name; /* of the set, in paths */
        const struct metric *metrics;
        size_t size;
        bool has_units; /* some values must be converted to the kernel's units */
        struct buf text;
        struct csv_file_header header; /* of text */
    } headers[256];
};

/* Creates dir. The caller sets the other fields before. */
enum err csv_tree_open(struct csv_tree *tree, const char *dir, uint64_t rotate_bytes, uint64_t rotate_ns);
enum err csv_tree_write(struct csv_tree *tree, const struct batch *batch);
enum err csv_tree_flush(struct csv_tree *tree, uint64_t deadline_ns);
void csv_tree_close(struct csv_tree *tree);

#endif
