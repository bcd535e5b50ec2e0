/* whole_io of the parent minus whole_io of each child: right only when every child is known that it waited for, which
 * the CPU times tell: theirs must add up to what the parent was told of its children. Of a life of several images the last one
 * is meant: what it found when it began is taken off, and children that were waited for before stand in that. */
#include "merge/io.h"

#include <stdlib.h>

struct io_family {
    struct counters children;
    uint64_t waited_us;
    bool is_whole;
};

static bool is_needed(const struct life *life)
{
    return life->thread_events && life_has(life, RECORD_KIND_end);
}

static void add_child(const struct events *events, const struct life *child, struct io_family *family)
{
    struct told told;
    told_read(events, child, &told);
    if (!told.has_end || (told.end.whole_io.known & IO_COUNTERS) != IO_COUNTERS)
        family->is_whole = false;
    else
        counters_add(&family->children, &told.end.whole_io);
    family->waited_us += told.has_wait ? counters_cpu_us(&told.wait) : 0;
}

static bool is_before(const struct event *wait, const struct life *parent, const struct images *images)
{
    return parent->images > 1 && wait->time_ns < images->list[parent->image + parent->images - 1].start_ns;
}

static void add_children(struct io *io, const struct events *events, const struct lives *lives, const struct images *images)
{
    for (uint32_t i = 0; i < lives->count; i++) {
        const struct life *child = &lives->list[i];
        if (child->parent == NONE || child->wait == NONE || !io->by_life[child->parent])
            continue;
        const struct life *parent = &lives->list[child->parent];
        const struct event *wait = &events->list[child->wait];
        if (wait->who != parent->pid || is_before(wait, parent, images))
            continue;
        add_child(events, child, &io->families[io->by_life[child->parent] - 1]);
    }
}

enum err io_init(struct io *io, const struct events *events, const struct lives *lives, const struct images *images)
{
    *io = (struct io){ .by_life = calloc(lives->count + 1, sizeof *io->by_life) };
    if (!io->by_life)
        return NOMEM;
    for (uint32_t i = 0; i < lives->count; i++)
        if (is_needed(&lives->list[i]))
            io->by_life[i] = ++io->count;
    if (!io->count)
        return OK;
    io->families = calloc(io->count, sizeof *io->families);
    if (!io->families)
        return NOMEM;
    for (uint32_t i = 0; i < io->count; i++)
        io->families[i].is_whole = true;
    add_children(io, events, lives, images);
    return OK;
}

void io_clear(struct io *io)
{
    free(io->families);
    free(io->by_life);
    *io = (struct io){ 0 };
}

void io_fill(const struct io *io, uint32_t life, const struct told *told, const struct io_before *before,
             struct counters *counters)
{
    if (!io->by_life[life] || !told->has_end || (counters->known & IO_COUNTERS) == IO_COUNTERS)
        return;
    const struct io_family *family = &io->families[io->by_life[life] - 1];
    uint64_t told_us = counters_cpu_us(&told->end.children) - counters_cpu_us(&before->children);
    uint64_t slack_us = told_us / 1000 + 10;
    bool all_known = family->waited_us + slack_us >= told_us && told_us + slack_us >= family->waited_us;
    if (!family->is_whole || !all_known)
        return;
    struct counters whole = told->end.whole_io;
    whole.known &= IO_COUNTERS;
    counters_subtract(&whole, &family->children);
    counters_subtract(&whole, &before->whole);
    own_subtract(&before->own, &whole);
    counters->known &= ~IO_COUNTERS;
    counters_fill(counters, &whole);
}
