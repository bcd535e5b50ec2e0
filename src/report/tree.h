/* The processes of a job as a tree in memory: read from the store, equal small ones folded into one, sorted. */
#ifndef SONDE_REPORT_TREE_H
#define SONDE_REPORT_TREE_H

#include "store/store.h"

#define TREE_NONE UINT32_MAX

struct tree_node {
    uint32_t number;              /* in the store */
    uint32_t pid, image;
    uint32_t parent, first_child, last_child, next; /* nodes; TREE_NONE: none */
    uint32_t count;               /* processes folded into this one, with itself */
    uint32_t threads, thread_first, thread_count; /* in all; those that tree_add_thread brought, in tree.threads */
    uint32_t depth;
    uint32_t below;               /* processes below, folded ones counted */
    uint64_t start_ns;            /* 0: not known */
    uint64_t time_ns;             /* how long it lived; of all that were folded together */
    uint64_t cpu_us, inclusive_us, rss_kb, read_bytes, write_bytes; /* read, written by system calls */
    uint64_t alike;               /* equal in processes with equal trees below them */
    size_t name, args;            /* in tree.texts: terminated; with their size before */
    unsigned sources;             /* enum process_source; of all that were folded together */
    enum process_state state;
    uint8_t exit_code, exit_signal;
    bool status_known, time_known, cpu_known, rss_known, read_known, write_known;
    bool gone;                    /* folded into another */
};

struct tree_thread {
    struct thread thread;
    uint32_t node;
};

struct tree {
    struct tree_node *nodes; /* parents before children */
    uint32_t count, room;
    struct tree_thread *threads;
    uint32_t thread_count, thread_room;
    uint32_t first_root, last_root;
    struct buf texts;
    size_t args_max;         /* longer arguments are cut when they are read */
    uint64_t hidden_below_us, hidden, hidden_us; /* what tree_hide took: less than this, how many, their CPU time */
};

enum tree_order { TREE_BY_START, TREE_BY_CPU, TREE_BY_TIME, TREE_BY_MEMORY, TREE_BY_IO };

void tree_init(struct tree *tree, size_t args_max);
void tree_clear(struct tree *tree);

/* Callbacks for store_processes and, afterwards, store_threads; context is the tree. */
enum err tree_add(void *context, uint32_t number, const struct process *process);
enum err tree_add_thread(void *context, uint32_t number, const struct thread *thread);

/* Folds siblings that run the same program, ended alike, and have the same sort of tree below them, when there are at
 * least TREE_FOLD_MIN of them and each used less than a twentieth of all CPU time, or next to nothing. */
#define TREE_FOLD_MIN 5
#define TREE_FOLD_ALWAYS_US 10000
enum err tree_fold(struct tree *tree);

/* Sorts siblings, the most first; by start: the earliest first. */
enum err tree_sort(struct tree *tree, enum tree_order order);

/* Takes away what used less CPU time than least_us, with all below it. */
void tree_hide(struct tree *tree, uint64_t least_us);

struct bytes tree_name(const struct tree *tree, const struct tree_node *node);
struct bytes tree_args(const struct tree *tree, const struct tree_node *node); /* NUL after each; size 0: not known */

/* The next node in pre-order that is not gone, TREE_NONE at the end. into: also what is below node. */
uint32_t tree_first(const struct tree *tree);
uint32_t tree_next(const struct tree *tree, uint32_t node, bool into);

#endif
