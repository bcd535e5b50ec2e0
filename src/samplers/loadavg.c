/* The load average, from /proc/loadavg: "0.42 0.30 0.25 3/412 27013": three averages, runnable tasks, total tasks, and
 * the newest pid. */
#include "samplers/all.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/scan.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const struct metric metrics[] = {
    { "load1", "1", GAUGE, F64, "average number of tasks running, runnable or blocked for I/O, over 1 minute", "load1min" },
    { "load5", "1", GAUGE, F64, "the same over 5 minutes", "load5min" },
    { "load15", "1", GAUGE, F64, "the same over 15 minutes", "load15min" },
    { "runnable", "1", GAUGE, U64, "tasks running or runnable now" },
    { "tasks", "1", GAUGE, U64, "processes and threads of the node", "scheduling_entities" },
    { "newest_pid", "1", GAUGE, U64, "most recently assigned pid or tid" },
};

enum { LOAD1, LOAD5, LOAD15, RUNNABLE, TASKS, NEWEST_PID, METRICS };

static const struct set set = { "loadavg", metrics, METRICS }, brief_set = { "loadavg", metrics, NEWEST_PID };
_Static_assert(sizeof metrics / sizeof *metrics == METRICS, "a name for each metric");

struct loadavg {
    int fd;
    const struct set *set;
};

static enum err loadavg_open(void *state, const struct sampler_context *context)
{
    struct loadavg *loadavg = state;
    loadavg->set = context->is_brief ? &brief_set : &set;
    return file_open(context->root, "/proc/loadavg", &loadavg->fd);
}

/* The file is one line: one pread suffices. */
static enum err read_line(int fd, char *text, size_t size)
{
    ssize_t got = pread(fd, text, size - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    return got < 0 ? err_from_errno(errno) : OK;
}

static enum err loadavg_read(void *state, struct batch *out)
{
    const struct loadavg *loadavg = state;
    char text[128];
    double load[3];
    uint64_t runnable, tasks, newest_pid;
    enum err err = read_line(loadavg->fd, text, sizeof text);
    if (err)
        return err;
    const char *at = text;
    if (!scan_decimal(&at, &load[0]) || !scan_decimal(&at, &load[1]) || !scan_decimal(&at, &load[2])
        || !scan_u64(&at, &runnable) || *at++ != '/' || !scan_u64(&at, &tasks) || !strchr(at, '\n'))
        return CORRUPT;
    struct sample *sample = batch_add(out, loadavg->set, clock_realtime_ns(), "");
    if (!sample)
        return NOMEM;
    for (size_t i = 0; i < 3; i++)
        sample_set_f64(sample, LOAD1 + i, load[i]);
    sample_set_u64(sample, RUNNABLE, runnable);
    sample_set_u64(sample, TASKS, tasks);
    if (loadavg->set->size > NEWEST_PID && scan_u64(&at, &newest_pid))
        sample_set_u64(sample, NEWEST_PID, newest_pid);
    return OK;
}

static void loadavg_close(void *state)
{
    struct loadavg *loadavg = state;
    close(loadavg->fd);
}

const struct sampler sampler_loadavg = {
    .name = "loadavg",
    .about = "load of the node, runnable tasks",
    .set = &set,
    .state_size = sizeof(struct loadavg),
    .open = loadavg_open,
    .read = loadavg_read,
    .close = loadavg_close,
};
