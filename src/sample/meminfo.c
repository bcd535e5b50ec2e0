/* The node's memory: /proc/meminfo, one "Name:   12345 kB" per line. Fields are found by name: kernels differ in which
 * there are. */
#include "sample/all.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/scan.h"

#include <string.h>
#include <unistd.h>

/* X(the kernel's name, ours, help) */
#define FIELDS(X) \
    X("MemTotal:", mem_total, "memory of the node") \
    X("MemFree:", mem_free, "memory that nobody uses") \
    X("MemAvailable:", mem_available, "memory that programs can have without swapping") \
    X("Buffers:", buffers, "block device cache") \
    X("Cached:", cached, "file cache") \
    X("SwapTotal:", swap_total, "swap space") \
    X("SwapFree:", swap_free, "swap space that is not used") \
    X("Dirty:", dirty, "file data not yet written to storage") \
    X("Writeback:", writeback, "file data being written to storage") \
    X("AnonPages:", anonymous, "memory of programs that is not of a file") \
    X("Shmem:", shared, "shared memory and tmpfs") \
    X("Slab:", slab, "kernel objects")

static const struct metric metrics[] = {
#define X(kernel_name, name, help) { #name, "B", GAUGE, U64, help },
    FIELDS(X)
#undef X
};

static const char *const kernel_names[] = {
#define X(kernel_name, name, help) kernel_name,
    FIELDS(X)
#undef X
};

#define METRICS (sizeof metrics / sizeof *metrics)

static const struct set set = { "meminfo", metrics, METRICS };

struct meminfo {
    int fd;
};

static enum err meminfo_open(void *state, const struct sampler_context *context)
{
    struct meminfo *meminfo = state;
    return file_open(context->root, "/proc/meminfo", &meminfo->fd);
}

/* The fields stand in the kernel's order, as ours do: the search goes on where the last one ended, and around. */
static void set_line(struct sample *sample, const char *line, size_t *next)
{
    for (size_t n = 0; n < METRICS; n++) {
        size_t i = (*next + n) % METRICS;
        size_t size = strlen(kernel_names[i]);
        if (strncmp(line, kernel_names[i], size))
            continue;
        const char *at = line + size;
        uint64_t kb;
        if (scan_u64(&at, &kb))
            sample_set_u64(sample, i, kb * 1024);
        *next = i + 1;
        return;
    }
}

static enum err meminfo_read(void *state, struct batch *out)
{
    const struct meminfo *meminfo = state;
    char text[8192];
    size_t next = 0;
    enum err err = file_read_fd(meminfo->fd, text, sizeof text, NULL);
    if (err)
        return err;
    struct sample *sample = batch_add(out, &set, clock_realtime_ns(), "");
    if (!sample)
        return NOMEM;
    for (const char *line = text; line; line = scan_next_line(line))
        set_line(sample, line, &next);
    return OK;
}

static void meminfo_close(void *state)
{
    struct meminfo *meminfo = state;
    close(meminfo->fd);
}

const struct sampler sampler_meminfo = {
    .name = "meminfo",
    .about = "memory of the node",
    .set = &set,
    .state_size = sizeof(struct meminfo),
    .open = meminfo_open,
    .read = meminfo_read,
    .close = meminfo_close,
};
