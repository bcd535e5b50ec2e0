/* The node's CPU time: the first line of /proc/stat, "cpu  user nice system idle iowait irq softirq steal guest …" in
 * ticks, all CPUs together. Guest time is in user already. */
#include "sample/all.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/scan.h"

#include <unistd.h>

static const struct metric metrics[] = {
    { "user", "us", COUNTER, U64, "CPU time in user mode" },
    { "nice", "us", COUNTER, U64, "CPU time in user mode at low priority" },
    { "system", "us", COUNTER, U64, "CPU time in the kernel" },
    { "idle", "us", COUNTER, U64, "CPU time with nothing to do" },
    { "iowait", "us", COUNTER, U64, "idle CPU time while a task waited for storage" },
    { "irq", "us", COUNTER, U64, "CPU time in interrupts" },
    { "softirq", "us", COUNTER, U64, "CPU time in deferred interrupt work" },
    { "steal", "us", COUNTER, U64, "CPU time that the host gave to other virtual machines" },
};

#define METRICS (sizeof metrics / sizeof *metrics)

static const struct set set = { "stat", metrics, METRICS };

struct stat_state {
    int fd;
    uint64_t us_per_tick;
};

static enum err stat_open(void *state, const struct sampler_context *context)
{
    struct stat_state *stat = state;
    long ticks = sysconf(_SC_CLK_TCK);
    stat->us_per_tick = 1000000 / (uint64_t)(ticks > 0 ? ticks : 100);
    return file_open(context->root, "/proc/stat", &stat->fd);
}

static enum err stat_read(void *state, struct batch *out)
{
    const struct stat_state *stat = state;
    char text[512];
    enum err err = file_read_fd(stat->fd, text, sizeof text, NULL);
    if (err)
        return err;
    const char *at = scan_line(text, "cpu ");
    if (!at)
        return CORRUPT;
    struct sample *sample = batch_add(out, &set, clock_realtime_ns(), "");
    if (!sample)
        return NOMEM;
    uint64_t ticks;
    for (size_t i = 0; i < METRICS && scan_u64(&at, &ticks); i++) /* old kernels have fewer: those stay unknown */
        sample_set_u64(sample, i, ticks * stat->us_per_tick);
    return OK;
}

static void stat_close(void *state)
{
    struct stat_state *stat = state;
    close(stat->fd);
}

const struct sampler sampler_stat = {
    .name = "stat",
    .about = "CPU time of the node",
    .set = &set,
    .state_size = sizeof(struct stat_state),
    .open = stat_open,
    .read = stat_read,
    .close = stat_close,
};
