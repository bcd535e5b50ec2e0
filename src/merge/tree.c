/* The parent of a process is the instance that used its ppid when it started. */
#include "merge/tree.h"

#include "merge/pidns_init.h"
#include "merge/sort.h"

#include <stdlib.h>

static uint64_t start_of(const struct process_instance *instance)
{
    return instance->start_ns ? instance->start_ns : instance->first_ns;
}

static enum err find_parent(struct process_instances *instances, struct record_index *records, uint32_t run_pid,
                            uint32_t index)
{
    struct process_instance *instance = &instances->list[index];
    uint32_t ppid = instance->ppid, parent;
    if (!ppid || ppid == run_pid || instance->is_empty)
        return OK;
    uint64_t time_ns = start_of(instance);
    parent = process_instance_at(instances, records, ppid, time_ns);
    if (parent == NONE) {
        if (ppid == PIDNS_INIT_PID)
            return OK; /* pid 1 adopts orphans where sonde run could not: it is not the real parent */
        enum err err = process_instances_add_unrecorded(instances, records, ppid, time_ns, &parent);
        if (err)
            return err;
    }
    if (parent == index)
        return OK;
    instances->list[index].parent = parent;
    if (time_ns < instances->list[parent].first_child_ns)
        instances->list[parent].first_child_ns = time_ns;
    return OK;
}

/* Damaged records can make two processes each other's parents. Each chain is followed once; mark is the number of the
 * walk. */
static enum err break_cycles(struct process_instances *instances)
{
    uint32_t *mark = calloc(instances->count + 1, sizeof *mark);
    if (!mark)
        return NOMEM;
    for (uint32_t i = 0; i < instances->count; i++) {
        uint32_t at = i, before = NONE;
        while (at != NONE && !mark[at]) {
            mark[at] = i + 1;
            before = at;
            at = instances->list[at].parent;
        }
        if (at != NONE && mark[at] == i + 1 && before != NONE)
            instances->list[before].parent = NONE;
    }
    free(mark);
    return OK;
}

enum err tree_find_parents(struct process_instances *instances, struct record_index *records, uint32_t run_pid)
{
    uint32_t count = instances->count; /* those added below have no known parent */
    for (uint32_t i = 0; i < count; i++) {
        enum err err = find_parent(instances, records, run_pid, i);
        if (err)
            return err;
    }
    return break_cycles(instances);
}

/* All images, with their parents set. */
static uint32_t list_images(struct process_images *images, const struct process_instances *instances, uint32_t *list)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < instances->count; i++) {
        const struct process_instance *instance = &instances->list[i];
        uint32_t parent = instance->parent == NONE
                              ? NONE
                              : process_image_at(images, &instances->list[instance->parent], start_of(instance));
        for (uint32_t image = instance->first_image; image < instance->first_image + instance->image_count; image++) {
            images->list[image].parent = parent;
            list[count++] = image;
        }
    }
    return count;
}

/* Linked from the back, so that each list starts with the eldest. */
struct siblings {
    uint32_t child, next;
};

static uint32_t link_siblings(const struct process_images *images, struct siblings *siblings, const uint32_t *list,
                              uint32_t count)
{
    uint32_t root = NONE;
    for (uint32_t i = count; i-- > 0;) {
        uint32_t parent = images->list[list[i]].parent;
        uint32_t *head = parent == NONE ? &root : &siblings[parent].child;
        siblings[list[i]].next = *head;
        *head = list[i];
    }
    return root;
}

static void number_in_preorder(struct process_images *images, const struct siblings *siblings, uint32_t image,
                               uint32_t *order)
{
    uint32_t position = 0;
    while (image != NONE) {
        order[position] = image;
        images->list[image].position = position++;
        if (siblings[image].child != NONE) {
            image = siblings[image].child;
            continue;
        }
        while (image != NONE && siblings[image].next == NONE)
            image = images->list[image].parent;
        if (image != NONE)
            image = siblings[image].next;
    }
}

enum err tree_order(struct process_images *images, const struct process_instances *instances, uint32_t **order,
                    uint32_t *count)
{
    enum err err = OK;
    uint32_t *list = malloc(2 * ((size_t)images->count + 1) * sizeof *list);
    struct siblings *siblings = malloc(((size_t)images->count + 1) * sizeof *siblings);
    if (list && siblings) {
        memset(siblings, 0xff, ((size_t)images->count + 1) * sizeof *siblings);
        *count = list_images(images, instances, list);
        sort_by_time(images->list, sizeof *images->list, list, list + images->count, *count);
        uint32_t root = link_siblings(images, siblings, list, *count);
        number_in_preorder(images, siblings, root, list);
        *order = list;
    } else {
        free(list);
        err = NOMEM;
    }
    free(siblings);
    return err;
}
