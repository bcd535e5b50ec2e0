/* The node's memory, from /proc/meminfo: "Name:   12345 kB" per line. Every line is a metric; those that reports use
 * have names of ours, the others the kernel's in snake case. `sonde run` reads only the former. */
#include "samplers/all.h"

#include "base/clock.h"
#include "proc/textfile.h"
#include "samplers/keyed.h"

#include <stdio.h>
#include <string.h>

/* X(the kernel's name, metric, help) */
#define FIELDS(X) \
    X("MemTotal", mem_total, "total memory of the node") \
    X("MemFree", mem_free, "unused memory") \
    X("MemAvailable", mem_available, "memory available to programs without swapping") \
    X("Buffers", buffers, "block device cache") \
    X("Cached", cached, "file cache") \
    X("SwapTotal", swap_total, "swap space") \
    X("SwapFree", swap_free, "unused swap space") \
    X("Dirty", dirty, "file data not yet written to storage") \
    X("Writeback", writeback, "file data being written to storage") \
    X("AnonPages", anonymous, "anonymous memory of programs") \
    X("Shmem", shared, "shared memory and tmpfs") \
    X("Slab", slab, "kernel objects")

static const struct meminfo_field {
    const char *source, *name, *help;
} fields[] = {
#define X(source, name, help) { source, #name, help },
    FIELDS(X)
#undef X
};

struct meminfo {
    struct textfile file;
    struct keyed keyed;
    struct keyed_last last; /* stays empty: there are no counters */
};

static const struct keyed_format format = { .end = ':' };

static const struct meminfo_field *field_of(struct bytes key)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (bytes_equal(key, bytes_of(fields[i].source)))
            return &fields[i];
    return NULL;
}

/* Lines without "kB" count pages of their own size: HugePages_Total. */
static void describe(struct bytes key, const char *line, struct keyed_description *description)
{
    const struct meminfo_field *field = field_of(key);
    size_t size = strcspn(line, "\n");
    description->is_kb = size > 3 && !strncmp(line + size - 3, " kB", 3);
    description->kind = GAUGE;
    description->unit = description->is_kb ? "B" : "1";
    if (field) {
        snprintf(description->name, sizeof description->name, "%s", field->name);
        snprintf(description->help, sizeof description->help, "%s", field->help);
    }
}

static void describe_brief(struct bytes key, const char *line, struct keyed_description *description)
{
    describe(key, line, description);
    if (!field_of(key))
        description->name[0] = '\0';
}

static void meminfo_close(void *state)
{
    struct meminfo *meminfo = state;
    textfile_close(&meminfo->file);
    keyed_clear(&meminfo->keyed);
}

static enum err add_keys(struct meminfo *meminfo)
{
    enum err err = keyed_add_keys(&meminfo->keyed, &format, meminfo->file.text);
    return err ? err : keyed_make_set(&meminfo->keyed);
}

static enum err meminfo_open(void *state, const struct sampler_context *context)
{
    struct meminfo *meminfo = state;
    keyed_init(&meminfo->keyed, "meminfo", context->is_brief ? describe_brief : describe);
    enum err err = textfile_open(&meminfo->file, context->root, "/proc/meminfo", TEXTFILE_WHOLE);
    if (!err)
        err = add_keys(meminfo);
    if (err)
        meminfo_close(meminfo);
    return err;
}

static enum err meminfo_read(void *state, struct batch *out)
{
    struct meminfo *meminfo = state;
    size_t expected = 0;
    enum err err = textfile_read(&meminfo->file);
    if (!err && !meminfo->file.size)
        err = CORRUPT;
    if (!err && meminfo->keyed.has_new_keys)
        err = add_keys(meminfo);
    if (err)
        return err;
    struct sample *sample = batch_add(out, keyed_set(&meminfo->keyed), clock_realtime_ns(), "");
    if (!sample)
        return NOMEM;
    keyed_fill(&meminfo->keyed, &format, meminfo->file.text, sample, &meminfo->last, &expected);
    return OK;
}

const struct sampler sampler_meminfo = {
    .name = "meminfo",
    .about = "memory of the node",
    .state_size = sizeof(struct meminfo),
    .open = meminfo_open,
    .read = meminfo_read,
    .close = meminfo_close,
};
