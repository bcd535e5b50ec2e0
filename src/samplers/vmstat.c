/* Memory management of the kernel, from /proc/vmstat: "pgfault 12345" per line, in pages or events. Every line is a
 * metric under the kernel's name. */
#include "samplers/all.h"

#include "base/clock.h"
#include "proc/textfile.h"
#include "samplers/keyed.h"

#include <stdio.h>
#include <string.h>

struct vmstat {
    struct textfile file;
    struct keyed keyed;
    struct keyed_last last;
};

static const struct keyed_format format = { .end = ' ' };

static bool begins(struct bytes key, const char *with)
{
    size_t size = strlen(with);
    return key.size >= size && !memcmp(key.data, with, size);
}

/* The file does not say which lines are levels: all that begin with nr_ are, except those that count events. */
static bool is_gauge(struct bytes key)
{
    static const char *const counts[] = { "nr_dirtied", "nr_written", "nr_throttled_written", "nr_vmscan_", "nr_tlb_",
                                          "nr_foll_pin_" };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (begins(key, counts[i]))
            return false;
    return begins(key, "nr_") || bytes_equal(key, bytes_of("workingset_nodes"));
}

/* A few are in KiB; the others are pages or events. */
static bool is_kb(struct bytes key)
{
    static const char *const names[] = { "pgpgin", "pgpgout", "nr_kernel_stack", "nr_shadow_call_stack" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (bytes_equal(key, bytes_of(names[i])))
            return true;
    return false;
}

static void describe(struct bytes key, const char *line, struct keyed_description *description)
{
    (void)line;
    description->kind = is_gauge(key) ? GAUGE : COUNTER;
    if (is_kb(key)) {
        description->unit = "B";
        description->is_kb = true;
    }
    snprintf(description->help, sizeof description->help, "%.*s of /proc/vmstat", (int)key.size, key.data);
}

static void vmstat_close(void *state)
{
    struct vmstat *vmstat = state;
    textfile_close(&vmstat->file);
    keyed_clear(&vmstat->keyed);
    keyed_last_clear(&vmstat->last);
}

static enum err add_keys(struct vmstat *vmstat)
{
    enum err err = keyed_add_keys(&vmstat->keyed, &format, vmstat->file.text);
    if (!err)
        err = keyed_make_set(&vmstat->keyed);
    return err ? err : keyed_last_reserve(&vmstat->last, &vmstat->keyed);
}

static enum err vmstat_open(void *state, const struct sampler_context *context)
{
    struct vmstat *vmstat = state;
    keyed_init(&vmstat->keyed, "vmstat", describe);
    enum err err = textfile_open(&vmstat->file, context->root, "/proc/vmstat", TEXTFILE_PAGES);
    if (!err)
        err = add_keys(vmstat);
    if (err)
        vmstat_close(vmstat);
    return err;
}

static enum err vmstat_read(void *state, struct batch *out)
{
    struct vmstat *vmstat = state;
    size_t expected = 0;
    enum err err = textfile_read(&vmstat->file);
    if (!err && !vmstat->file.size)
        err = CORRUPT;
    if (!err && vmstat->keyed.has_new_keys)
        err = add_keys(vmstat);
    if (err)
        return err;
    struct sample *sample = batch_add(out, keyed_set(&vmstat->keyed), clock_realtime_ns(), "");
    if (!sample)
        return NOMEM;
    keyed_fill(&vmstat->keyed, &format, vmstat->file.text, sample, &vmstat->last, &expected);
    return OK;
}

const struct sampler sampler_vmstat = {
    .name = "vmstat",
    .about = "memory management of the kernel: faults, paging, reclaim",
    .state_size = sizeof(struct vmstat),
    .open = vmstat_open,
    .read = vmstat_read,
    .close = vmstat_close,
};
