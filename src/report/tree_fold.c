/* Folds small similar siblings into one, top down. A folded process brings its children along, which are folded in
 * turn: 5,000 sh with a gcc below each become one sh with one gcc below it. */
#include "base/hash.h"
#include "report/tree.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;
    return x ^ x >> 32;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Hash of executable and exit status, and the kinds of the children, regardless of their number. */
static uint64_t similarity_of(const struct tree *tree, const struct tree_node *node, uint64_t *scratch)
{
    size_t count = 0;
    for (uint32_t n = node->first_child; n != TREE_NONE; n = tree->nodes[n].next)
        scratch[count++] = tree->nodes[n].similarity;
    qsort(scratch, count, sizeof *scratch, compare_u64);
    uint64_t end = (uint64_t)node->state << 24 | (uint64_t)node->status_known << 16 | node->exit_code << 8 | node->exit_signal;
    struct bytes name = tree_name(tree, node);
    uint64_t hash = mix(hash_add(HASH_START, name.data, name.size) ^ mix(end));
    for (size_t i = 0; i < count; i++)
        if (i == 0 || scratch[i] != scratch[i - 1])
            hash = mix(hash + scratch[i]);
    return hash;
}

static void add_u64(uint64_t *sum, bool *known, uint64_t part, bool part_known)
{
    *sum += part;
    *known = *known || part_known;
}

static void merge_into(struct tree *tree, uint32_t into, uint32_t from)
{
    struct tree_node *a = &tree->nodes[into], *b = &tree->nodes[from];
    a->count += b->count;
    a->below += b->below;
    a->threads += b->threads;
    a->sources |= b->sources;
    a->inclusive_us += b->inclusive_us;
    add_u64(&a->cpu_us, &a->cpu_known, b->cpu_us, b->cpu_known);
    add_u64(&a->time_ns, &a->time_known, b->time_ns, b->time_known);
    add_u64(&a->read_bytes, &a->read_known, b->read_bytes, b->read_known);
    add_u64(&a->write_bytes, &a->write_known, b->write_bytes, b->write_known);
    if (b->rss_kb > a->rss_kb)
        a->rss_kb = b->rss_kb;
    a->rss_known = a->rss_known || b->rss_known;
    b->gone = true;
    for (uint32_t n = b->first_child; n != TREE_NONE; n = tree->nodes[n].next)
        tree->nodes[n].parent = into;
    if (b->first_child == TREE_NONE)
        return;
    if (a->first_child == TREE_NONE)
        a->first_child = b->first_child;
    else
        tree->nodes[a->last_child].next = b->first_child;
    a->last_child = b->last_child;
}

/* Siblings of one kind. */
struct fold_group {
    uint64_t similarity;
    uint32_t first, count; /* count 0: the slot is free */
};

struct fold {
    struct tree *tree;
    struct fold_group *groups; /* hash table; its size is a power of two and exceeds the number of siblings */
    size_t size;
    uint64_t small_us; /* processes with less are small */
};

static struct fold_group *group_of(struct fold *fold, uint64_t similarity)
{
    size_t at = similarity & (fold->size - 1);
    while (fold->groups[at].count && fold->groups[at].similarity != similarity)
        at = (at + 1) & (fold->size - 1);
    return &fold->groups[at];
}

static bool is_small(const struct fold *fold, const struct tree_node *node)
{
    return node->inclusive_us < fold->small_us;
}

static size_t group_siblings(struct fold *fold, uint32_t first)
{
    struct tree *tree = fold->tree;
    size_t count = 0;
    for (uint32_t n = first; n != TREE_NONE; n = tree->nodes[n].next)
        count++;
    for (fold->size = 16; fold->size < 2 * count; fold->size *= 2)
        ;
    memset(fold->groups, 0, fold->size * sizeof *fold->groups);
    for (uint32_t n = first; n != TREE_NONE; n = tree->nodes[n].next) {
        if (!is_small(fold, &tree->nodes[n]))
            continue;
        struct fold_group *group = group_of(fold, tree->nodes[n].similarity);
        if (group->count++ == 0)
            *group = (struct fold_group){ tree->nodes[n].similarity, n, 1 };
    }
    return count;
}

/* The list without those that were folded into an earlier one; first itself always stays. */
static void fold_list(struct fold *fold, uint32_t first, uint32_t *last)
{
    struct tree *tree = fold->tree;
    if (first == TREE_NONE || group_siblings(fold, first) < TREE_FOLD_MIN)
        return;
    uint32_t kept = TREE_NONE;
    for (uint32_t n = first, next; n != TREE_NONE; n = next) {
        next = tree->nodes[n].next;
        struct fold_group *group = is_small(fold, &tree->nodes[n]) ? group_of(fold, tree->nodes[n].similarity) : NULL;
        if (group && group->count >= TREE_FOLD_MIN && group->first != n) {
            merge_into(tree, group->first, n);
            continue;
        }
        if (kept != TREE_NONE)
            tree->nodes[kept].next = n;
        kept = n;
    }
    tree->nodes[kept].next = TREE_NONE;
    *last = kept;
}

static uint64_t all_cpu_us(const struct tree *tree)
{
    uint64_t sum = 0;
    for (uint32_t n = 0; n < tree->count; n++)
        sum += tree->nodes[n].cpu_us;
    return sum;
}

enum err tree_fold(struct tree *tree)
{
    size_t places = 32;
    while (places < 2 * ((size_t)tree->count + 1))
        places *= 2;
    struct fold fold = { .tree = tree, .small_us = all_cpu_us(tree) / 20 };
    if (fold.small_us < TREE_FOLD_ALWAYS_US)
        fold.small_us = TREE_FOLD_ALWAYS_US;
    fold.groups = malloc(places * sizeof *fold.groups);
    uint64_t *scratch = malloc(((size_t)tree->count + 1) * sizeof *scratch);
    if (fold.groups && scratch) {
        for (uint32_t n = tree->count; n-- > 0;)
            tree->nodes[n].similarity = similarity_of(tree, &tree->nodes[n], scratch);
        fold_list(&fold, tree->first_root, &tree->last_root);
        for (uint32_t n = 0; n < tree->count; n++)
            if (!tree->nodes[n].gone)
                fold_list(&fold, tree->nodes[n].first_child, &tree->nodes[n].last_child);
    }
    enum err err = fold.groups && scratch ? OK : NOMEM;
    free(fold.groups);
    free(scratch);
    return err;
}
