/* Scheduler statistics, from /proc/schedstat: "cpu0" and nine numbers for each online CPU. These lines are the same in
 * versions 15, 16 and 17; those of scheduling domains differ and are not read. The first numbers stay 0 unless
 * kernel.sched_schedstats is set. */
#include "samplers/all.h"

#include "base/clock.h"
#include "base/scan.h"
#include "proc/textfile.h"
#include "samplers/counter.h"
#include "samplers/instances.h"

#include <string.h>

/* In the kernel's order, without the column that is always 0. */
static const struct metric metrics[] = {
    { "yields", "1", COUNTER, U64, "sched_yield calls", "yld_count" },
    { "schedules", "1", COUNTER, U64, "calls of the scheduler", "sched_count" },
    { "schedules_idle", "1", COUNTER, U64, "times that the CPU went idle", "sched_goidle" },
    { "wakeups", "1", COUNTER, U64, "task wake-ups", "ttwu_count" },
    { "wakeups_local", "1", COUNTER, U64, "task wake-ups on the same CPU", "ttwu_local" },
    { "run_time", "ns", COUNTER, U64, "time that tasks ran on the CPU", "rq_cpu_time" },
    { "wait_time", "ns", COUNTER, U64, "time that tasks waited for the CPU", "run_delay" },
    { "timeslices", "1", COUNTER, U64, "timeslices run on the CPU", "pcount" },
};

#define METRICS (sizeof metrics / sizeof *metrics)
#define COLUMN_UNUSED 1 /* the kernel's second column is always 0 */
#define NARROW 5        /* the first metrics are 32-bit counters */
#define CPUS_MAX 8192
#define VERSION_OLDEST 15
#define VERSION_NEWEST 17

static const struct set set = { "schedstat", metrics, METRICS, "cpu" };

struct schedstat {
    struct textfile file;
    struct instances cpus;
};

static bool is_known_version(const char *text)
{
    uint64_t version;
    return scan_line_u64(text, "version ", &version) && version >= VERSION_OLDEST && version <= VERSION_NEWEST;
}

static enum err schedstat_open(void *state, const struct sampler_context *context)
{
    struct schedstat *schedstat = state;
    enum err err = textfile_open(&schedstat->file, context->root, "/proc/schedstat", TEXTFILE_PAGES);
    if (!err && !is_known_version(schedstat->file.text)) {
        textfile_close(&schedstat->file);
        return ABSENT;
    }
    instances_init(&schedstat->cpus, METRICS + NARROW, CPUS_MAX);
    return err;
}

static enum err add_cpu(struct schedstat *schedstat, const char *line, uint64_t time_ns, struct batch *out)
{
    size_t size = strcspn(line, " \n");
    struct instance *cpu = instances_find(&schedstat->cpus, (struct bytes){ line, size });
    if (!cpu)
        return OK;
    struct sample *sample = batch_add(out, &set, time_ns, cpu->name);
    if (!sample)
        return NOMEM;
    const char *at = line + size;
    uint64_t value;
    for (size_t column = 0, i = 0; i < METRICS && scan_u64(&at, &value); column++) {
        if (column == COLUMN_UNUSED)
            continue;
        value = i < NARROW ? counter_unwrap32(&cpu->last[METRICS + i], value) : value;
        counter_set(sample, i, value, &cpu->last[i]);
        i++;
    }
    return OK;
}

static enum err schedstat_read(void *state, struct batch *out)
{
    struct schedstat *schedstat = state;
    enum err err = textfile_read(&schedstat->file);
    if (!err && !is_known_version(schedstat->file.text))
        err = CORRUPT;
    uint64_t time_ns = clock_realtime_ns();
    instances_begin(&schedstat->cpus);
    for (const char *line = schedstat->file.text; line && !err; line = scan_next_line(line))
        if (!strncmp(line, "cpu", 3))
            err = add_cpu(schedstat, line, time_ns, out);
    return err;
}

static void schedstat_close(void *state)
{
    struct schedstat *schedstat = state;
    textfile_close(&schedstat->file);
    instances_clear(&schedstat->cpus);
}

const struct sampler sampler_schedstat = {
    .name = "schedstat",
    .about = "scheduler: run time, wait time and wake-ups of each CPU",
    .absent_reason = "The kernel provides no scheduler statistics, or in an unknown version",
    .absent_fix = "It needs a kernel that was built with CONFIG_SCHEDSTATS",
    .set = &set,
    .state_size = sizeof(struct schedstat),
    .open = schedstat_open,
    .read = schedstat_read,
    .close = schedstat_close,
};
