/* whole_io of the parent minus whole_io of each child. This is correct only if every child that it waited for is known,
 * which the CPU times show: those of the children must add up to the parent's end.children. For an instance with
 * several images, the result is for the last one: I/O before its exec is subtracted, and children waited for before it
 * are already included in that. */
#include "merge/io_with_children.h"

#include <stdlib.h>

struct io_family {
    struct counters children;
    uint64_t waited_us;
    bool is_whole;
};

static bool is_needed(const struct process_instance *instance)
{
    return instance->thread_records && process_instance_has(instance, RECORD_KIND_end);
}

static void add_child(const struct record_index *records, const struct process_instance *child, struct io_family *family)
{
    struct usage_records reported;
    usage_records_read(records, child, &reported);
    if (!reported.has_end || (reported.end.whole_io.known & IO_COUNTERS) != IO_COUNTERS)
        family->is_whole = false;
    else
        counters_add(&family->children, &reported.end.whole_io);
    family->waited_us += reported.has_wait ? counters_cpu_us(&reported.wait) : 0;
}

static bool is_before(const struct record_entry *wait, const struct process_instance *parent,
                      const struct process_images *images)
{
    return parent->image_count > 1 && wait->time_ns < images->list[parent->first_image + parent->image_count - 1].start_ns;
}

static void add_children(struct io_with_children *io, const struct record_index *records,
                         const struct process_instances *instances, const struct process_images *images)
{
    for (uint32_t i = 0; i < instances->count; i++) {
        const struct process_instance *child = &instances->list[i];
        if (child->parent == NONE || child->wait == NONE || !io->family_of[child->parent])
            continue;
        const struct process_instance *parent = &instances->list[child->parent];
        const struct record_entry *wait = &records->list[child->wait];
        if (wait->related_pid != parent->pid || is_before(wait, parent, images))
            continue;
        add_child(records, child, &io->families[io->family_of[child->parent] - 1]);
    }
}

enum err io_with_children_init(struct io_with_children *io, const struct record_index *records,
                               const struct process_instances *instances, const struct process_images *images)
{
    *io = (struct io_with_children){ .family_of = calloc(instances->count + 1, sizeof *io->family_of) };
    if (!io->family_of)
        return NOMEM;
    for (uint32_t i = 0; i < instances->count; i++)
        if (is_needed(&instances->list[i]))
            io->family_of[i] = ++io->count;
    if (!io->count)
        return OK;
    io->families = calloc(io->count, sizeof *io->families);
    if (!io->families)
        return NOMEM;
    for (uint32_t i = 0; i < io->count; i++)
        io->families[i].is_whole = true;
    add_children(io, records, instances, images);
    return OK;
}

void io_with_children_clear(struct io_with_children *io)
{
    free(io->families);
    free(io->family_of);
    *io = (struct io_with_children){ 0 };
}

void io_with_children_fill(const struct io_with_children *io, uint32_t instance, const struct usage_records *reported,
                           const struct io_before *before,
             struct counters *counters)
{
    if (!io->family_of[instance] || !reported->has_end || (counters->known & IO_COUNTERS) == IO_COUNTERS)
        return;
    const struct io_family *family = &io->families[io->family_of[instance] - 1];
    uint64_t reported_us = counters_cpu_us(&reported->end.children) - counters_cpu_us(&before->children);
    uint64_t slack_us = reported_us / 1000 + 10;
    bool all_known = family->waited_us + slack_us >= reported_us && reported_us + slack_us >= family->waited_us;
    if (!family->is_whole || !all_known)
        return;
    struct counters whole = reported->end.whole_io;
    whole.known &= IO_COUNTERS;
    counters_subtract(&whole, &family->children);
    counters_subtract(&whole, &before->whole);
    probe_overhead_subtract(&before->overhead, &whole);
    counters->known &= ~IO_COUNTERS;
    counters_fill(counters, &whole);
}
