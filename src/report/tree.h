/* The processes of a job as a tree in memory: read from the store, small similar ones folded into one, sorted. */
#ifndef SONDE_REPORT_TREE_H
#define SONDE_REPORT_TREE_H

#include "store/store.h"

#define TREE_NONE UINT32_MAX

struct tree_node {
    uint32_t number;              /* in the store */
    uint32_t pid, image;
    uint32_t parent, first_child, last_child, next; /* nodes; TREE_NONE: none */
    uint32_t count;               /* processes folded into this one, including itself */
    uint32_t threads, thread_first, thread_count; /* total; those added by tree_add_thread, in tree.threads */
    uint32_t depth;
    uint32_t below;               /* number of descendants, including folded ones */
    uint64_t start_ns;            /* 0: unknown */
    uint64_t time_ns;             /* elapsed time; summed over folded processes */
    uint64_t cpu_us, inclusive_us, rss_kb, read_bytes, write_bytes; /* bytes transferred by system calls */
    uint64_t similarity;               /* hash, equal for processes with similar subtrees */
    size_t name, args;            /* in tree.texts: terminated, preceded by their size */
    unsigned sources;             /* enum process_source; of all folded processes */
    enum process_state state;
    uint8_t exit_code, exit_signal;
    bool status_known, time_known, cpu_known, rss_known, read_known, write_known;
    bool gone;                    /* folded into another, or hidden */
};

struct tree_thread {
    struct thread thread;
    uint32_t node;
};

struct tree {
    struct tree_node *nodes; /* parents before children */
    uint32_t count, capacity;
    struct tree_thread *threads;
    uint32_t thread_count, thread_capacity;
    uint32_t first_root, last_root;
    struct buf strings;
    size_t args_max;         /* longer arguments are truncated */
    uint64_t hidden_below_us, hidden, hidden_us; /* by tree_hide: the threshold, the number of processes, their CPU time */
};

enum tree_order { TREE_BY_START, TREE_BY_CPU, TREE_BY_TIME, TREE_BY_MEMORY, TREE_BY_IO };

void tree_init(struct tree *tree, size_t args_max);
void tree_clear(struct tree *tree);

/* Callbacks for store_processes and then store_threads; context is the tree. */
enum err tree_add(void *context, uint32_t number, const struct process *process);
enum err tree_add_thread(void *context, uint32_t number, const struct thread *thread);

/* Folds siblings with the same executable, exit status and kind of subtree, if there are at least TREE_FOLD_MIN of them
 * and each used less than a twentieth of all CPU time, or next to nothing. */
#define TREE_FOLD_MIN 5
#define TREE_FOLD_ALWAYS_US 10000
enum err tree_fold(struct tree *tree);

/* Sorts siblings, largest first; by start: earliest first. */
enum err tree_sort(struct tree *tree, enum tree_order order);

/* Hides processes that used less CPU time than least_us, with their descendants. */
void tree_hide(struct tree *tree, uint64_t least_us);

struct bytes tree_name(const struct tree *tree, const struct tree_node *node);
struct bytes tree_args(const struct tree *tree, const struct tree_node *node); /* NUL after each; size 0: unknown */

/* The next node in pre-order that is not gone, TREE_NONE at the end. into: also visit the children of node. */
uint32_t tree_first(const struct tree *tree);
uint32_t tree_next(const struct tree *tree, uint32_t node, bool into);

#endif
