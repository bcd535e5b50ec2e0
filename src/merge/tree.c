/* Parents by the pid that a process had as parent when it was born, and by which process had that pid then. */
#include "merge/tree.h"

#include "merge/pidns_init.h"
#include "merge/sort.h"

#include <stdlib.h>

static uint64_t birth_ns(const struct life *life)
{
    return life->start_ns ? life->start_ns : life->first_ns;
}

static enum err find_parent(struct lives *lives, struct events *events, uint32_t run_pid, uint32_t index)
{
    struct life *life = &lives->list[index];
    uint32_t ppid = life->ppid, parent;
    if (!ppid || ppid == run_pid || life->is_empty)
        return OK;
    uint64_t time_ns = birth_ns(life);
    parent = lives_at(lives, events, ppid, time_ns);
    if (parent == NONE) {
        if (ppid == INITS_PID)
            return OK; /* it takes orphans where sonde run could not: nobody's true parent */
        enum err err = lives_add_unseen(lives, events, ppid, time_ns, &parent);
        if (err)
            return err;
    }
    if (parent == index)
        return OK;
    lives->list[index].parent = parent;
    if (time_ns < lives->list[parent].first_child_ns)
        lives->list[parent].first_child_ns = time_ns;
    return OK;
}

/* Damaged records can make two processes each other's parents. Each chain is walked once: mark is the walk's number. */
static enum err break_cycles(struct lives *lives)
{
    uint32_t *mark = calloc(lives->count + 1, sizeof *mark);
    if (!mark)
        return NOMEM;
    for (uint32_t i = 0; i < lives->count; i++) {
        uint32_t at = i, before = NONE;
        while (at != NONE && !mark[at]) {
            mark[at] = i + 1;
            before = at;
            at = lives->list[at].parent;
        }
        if (at != NONE && mark[at] == i + 1 && before != NONE)
            lives->list[before].parent = NONE;
    }
    free(mark);
    return OK;
}

enum err tree_find_parents(struct lives *lives, struct events *events, uint32_t run_pid)
{
    uint32_t count = lives->count; /* those that are added have no known parent */
    for (uint32_t i = 0; i < count; i++) {
        enum err err = find_parent(lives, events, run_pid, i);
        if (err)
            return err;
    }
    return break_cycles(lives);
}

/* The images that stand, in the order of their beginning, with their parents set. */
static uint32_t list_images(struct images *images, const struct lives *lives, uint32_t *list)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < lives->count; i++) {
        const struct life *life = &lives->list[i];
        uint32_t parent = life->parent == NONE
                              ? NONE
                              : images_at(images, &lives->list[life->parent], birth_ns(life));
        for (uint32_t image = life->image; image < life->image + life->images; image++) {
            images->list[image].parent = parent;
            list[count++] = image;
        }
    }
    return count;
}

/* Chains of brothers: made from the back, so that each begins with the eldest. */
struct kin {
    uint32_t child, brother;
};

static uint32_t chain_kin(const struct images *images, struct kin *kin, const uint32_t *list, uint32_t count)
{
    uint32_t root = NONE;
    for (uint32_t i = count; i-- > 0;) {
        uint32_t parent = images->list[list[i]].parent;
        uint32_t *head = parent == NONE ? &root : &kin[parent].child;
        kin[list[i]].brother = *head;
        *head = list[i];
    }
    return root;
}

static void walk_in_order(struct images *images, const struct kin *kin, uint32_t image, uint32_t *order)
{
    uint32_t place = 0;
    while (image != NONE) {
        order[place] = image;
        images->list[image].place = place++;
        if (kin[image].child != NONE) {
            image = kin[image].child;
            continue;
        }
        while (image != NONE && kin[image].brother == NONE)
            image = images->list[image].parent;
        if (image != NONE)
            image = kin[image].brother;
    }
}

enum err tree_order(struct images *images, const struct lives *lives, uint32_t **order, uint32_t *count)
{
    enum err err = OK;
    uint32_t *list = malloc(2 * ((size_t)images->count + 1) * sizeof *list);
    struct kin *kin = malloc(((size_t)images->count + 1) * sizeof *kin);
    if (list && kin) {
        memset(kin, 0xff, ((size_t)images->count + 1) * sizeof *kin);
        *count = list_images(images, lives, list);
        sort_by_time(images->list, sizeof *images->list, list, list + images->count, *count);
        uint32_t root = chain_kin(images, kin, list, *count);
        walk_in_order(images, kin, root, list);
        *order = list;
    } else {
        free(list);
        err = NOMEM;
    }
    free(kin);
    return err;
}
