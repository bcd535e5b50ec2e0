/* Builds the tree, and walks it without recursion: chains of 50,000 processes occur. */
#include "report/tree.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

#define STRINGS_MAX (4ull << 30)
#define NO_TEXT ((size_t)-1)

void tree_init(struct tree *tree, size_t args_max)
{
    *tree = (struct tree){ .first_root = TREE_NONE, .last_root = TREE_NONE, .args_max = args_max };
    buf_init(&tree->strings, STRINGS_MAX);
}

void tree_clear(struct tree *tree)
{
    free(tree->nodes);
    free(tree->threads);
    buf_clear(&tree->strings);
    tree_init(tree, tree->args_max);
}

static size_t keep_text(struct tree *tree, struct bytes text, size_t max)
{
    size_t at = tree->strings.size, size = text.size < max ? text.size : max;
    if (text.size == 0)
        return NO_TEXT;
    buf_add(&tree->strings, &size, sizeof size);
    buf_add(&tree->strings, text.data, size);
    return at;
}

static struct bytes text_at(const struct tree *tree, size_t at)
{
    size_t size;
    if (at == NO_TEXT)
        return (struct bytes){ 0 };
    memcpy(&size, tree->strings.data + at, sizeof size);
    return (struct bytes){ tree->strings.data + at + sizeof size, size };
}

struct bytes tree_name(const struct tree *tree, const struct tree_node *node)
{
    return text_at(tree, node->name);
}

struct bytes tree_args(const struct tree *tree, const struct tree_node *node)
{
    return text_at(tree, node->args);
}

/* Process numbers ascend, so the array is sorted by them. */
static uint32_t find_number(const struct tree *tree, uint32_t number)
{
    uint32_t low = 0, high = tree->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (tree->nodes[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < tree->count && tree->nodes[low].number == number ? low : TREE_NONE;
}

static void take_counters(struct tree_node *node, const struct counters *c)
{
    node->cpu_us = counters_cpu_us(c);
    node->cpu_known = counters_has(c, COUNTER_usertime) || counters_has(c, COUNTER_systemtime);
    node->rss_kb = counters_get(c, COUNTER_rssmax);
    node->rss_known = counters_has(c, COUNTER_rssmax);
    node->read_bytes = counters_get(c, COUNTER_rchar);
    node->read_known = counters_has(c, COUNTER_rchar);
    node->write_bytes = counters_get(c, COUNTER_wchar);
    node->write_known = counters_has(c, COUNTER_wchar);
}

static void link_to_parent(struct tree *tree, uint32_t at)
{
    struct tree_node *node = &tree->nodes[at];
    struct tree_node *parent = node->parent == TREE_NONE ? NULL : &tree->nodes[node->parent];
    uint32_t *first = parent ? &parent->first_child : &tree->first_root;
    uint32_t *last = parent ? &parent->last_child : &tree->last_root;
    if (*first == TREE_NONE)
        *first = at;
    else
        tree->nodes[*last].next = at;
    *last = at;
    node->depth = parent ? parent->depth + 1 : 0;
}

enum err tree_add(void *context, uint32_t number, const struct process *process)
{
    struct tree *tree = context;
    if (array_reserve(tree->nodes, tree->capacity, tree->count + 1, VEC_MAX))
        return NOMEM;
    struct tree_node *node = &tree->nodes[tree->count];
    *node = (struct tree_node){
        .number = number, .pid = process->pid, .image = process->image, .count = 1, .threads = process->thread_count,
        .parent = process->parent == PROCESS_NO_PARENT ? TREE_NONE : find_number(tree, process->parent),
        .first_child = TREE_NONE, .last_child = TREE_NONE, .next = TREE_NONE,
        .below = process->last > number ? process->last - number : 0,
        .start_ns = process->start_ns, .sources = process->sources,
        .inclusive_us = process->inclusive_cpu_us,
        .state = process->state, .status_known = process->status_known,
        .exit_code = process->exit_code, .exit_signal = process->exit_signal,
    };
    node->time_known = process->start_ns && process->end_ns >= process->start_ns;
    node->time_ns = node->time_known ? process->end_ns - process->start_ns : 0;
    take_counters(node, &process->counters);
    node->name = keep_text(tree, process->name.size ? process->name : process->path, 4096);
    node->args = keep_text(tree, process->args, tree->args_max);
    link_to_parent(tree, tree->count++);
    return buf_err(&tree->strings);
}

enum err tree_add_thread(void *context, uint32_t number, const struct thread *thread)
{
    struct tree *tree = context;
    uint32_t at = find_number(tree, number);
    if (at == TREE_NONE)
        return OK;
    if (array_reserve(tree->threads, tree->thread_capacity, tree->thread_count + 1, VEC_MAX))
        return NOMEM;
    if (tree->nodes[at].thread_count++ == 0)
        tree->nodes[at].thread_first = tree->thread_count;
    tree->threads[tree->thread_count++] = (struct tree_thread){ .thread = *thread, .node = at };
    return OK;
}

uint32_t tree_first(const struct tree *tree)
{
    return tree->first_root;
}

uint32_t tree_next(const struct tree *tree, uint32_t node, bool into)
{
    if (into && tree->nodes[node].first_child != TREE_NONE)
        return tree->nodes[node].first_child;
    while (node != TREE_NONE && tree->nodes[node].next == TREE_NONE)
        node = tree->nodes[node].parent;
    return node == TREE_NONE ? TREE_NONE : tree->nodes[node].next;
}

static void hide_in_list(struct tree *tree, uint32_t *first, uint32_t *last)
{
    uint32_t kept = TREE_NONE;
    for (uint32_t n = *first; n != TREE_NONE; n = tree->nodes[n].next) {
        struct tree_node *node = &tree->nodes[n];
        if (node->inclusive_us < tree->hidden_below_us) {
            tree->hidden += node->count + node->below;
            tree->hidden_us += node->inclusive_us;
            continue;
        }
        *(kept == TREE_NONE ? first : &tree->nodes[kept].next) = n;
        kept = n;
    }
    if (kept == TREE_NONE)
        *first = TREE_NONE;
    else
        tree->nodes[kept].next = TREE_NONE;
    *last = kept;
}

/* Top down, so that descendants of hidden processes are not counted twice. */
void tree_hide(struct tree *tree, uint64_t least_us)
{
    tree->hidden_below_us = least_us;
    if (least_us == 0)
        return;
    hide_in_list(tree, &tree->first_root, &tree->last_root);
    for (uint32_t n = tree_first(tree); n != TREE_NONE; n = tree_next(tree, n, true))
        hide_in_list(tree, &tree->nodes[n].first_child, &tree->nodes[n].last_child);
}

static uint64_t sort_key(const struct tree_node *node, enum tree_order order)
{
    switch (order) {
    case TREE_BY_START: return UINT64_MAX - node->start_ns;
    case TREE_BY_CPU: return node->inclusive_us;
    case TREE_BY_TIME: return node->time_ns;
    case TREE_BY_MEMORY: return node->rss_kb;
    case TREE_BY_IO: return node->read_bytes + node->write_bytes;
    }
    return 0;
}

struct sorted {
    uint64_t key;
    uint32_t node;
};

/* Largest key first; equal ones stay in order of time. */
static int compare(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? 1 : -1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static void sort_list(struct tree *tree, uint32_t *first, uint32_t *last, enum tree_order order, struct sorted *scratch)
{
    size_t count = 0;
    for (uint32_t n = *first; n != TREE_NONE; n = tree->nodes[n].next)
        scratch[count++] = (struct sorted){ sort_key(&tree->nodes[n], order), n };
    if (count < 2)
        return;
    qsort(scratch, count, sizeof *scratch, compare);
    for (size_t i = 0; i < count; i++)
        tree->nodes[scratch[i].node].next = i + 1 < count ? scratch[i + 1].node : TREE_NONE;
    *first = scratch[0].node;
    *last = scratch[count - 1].node;
}

enum err tree_sort(struct tree *tree, enum tree_order order)
{
    struct sorted *scratch = malloc((tree->count + 1) * sizeof *scratch);
    if (!scratch)
        return NOMEM;
    sort_list(tree, &tree->first_root, &tree->last_root, order, scratch);
    for (uint32_t n = 0; n < tree->count; n++)
        if (!tree->nodes[n].gone)
            sort_list(tree, &tree->nodes[n].first_child, &tree->nodes[n].last_child, order, scratch);
    free(scratch);
    return OK;
}
