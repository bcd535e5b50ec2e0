/* CPU time and event counts of the node, from /proc/stat: "cpu  user nice system idle iowait irq softirq steal guest
 * guest_nice" in ticks, for all CPUs together and for each online one ("cpu3 …"), then "key number …" per line. A CPU
 * that goes offline has no sample until it is back; its time stays in the total. `sonde run` reads the total only. */
#include "samplers/all.h"

#include "base/clock.h"
#include "base/scan.h"
#include "proc/textfile.h"
#include "samplers/counter.h"
#include "samplers/instances.h"

#include <string.h>
#include <unistd.h>

static const struct metric metrics[] = {
    { "user", "us", COUNTER, U64, "CPU time in user mode" },
    { "nice", "us", COUNTER, U64, "CPU time in user mode at low priority" },
    { "system", "us", COUNTER, U64, "CPU time in kernel mode", "sys" },
    { "idle", "us", COUNTER, U64, "idle CPU time" },
    { "iowait", "us", COUNTER, U64, "idle CPU time while a task waited for storage" },
    { "irq", "us", COUNTER, U64, "CPU time in interrupts" },
    { "softirq", "us", COUNTER, U64, "CPU time in software interrupts" },
    { "steal", "us", COUNTER, U64, "CPU time that the hypervisor gave to other virtual machines" },
    { "guest", "us", COUNTER, U64, "CPU time of guest virtual machines, included in user" },
    { "guest_nice", "us", COUNTER, U64, "the same at low priority, included in nice" },
    { "interrupts", "1", COUNTER, U64, "interrupts of all kinds", "intr" },
    { "context_switches", "1", COUNTER, U64, "context switches", "ctxt" },
    { "boot_time", "s", GAUGE, U64, "when the node was booted, since 1970", "btime" },
    { "forks", "1", COUNTER, U64, "processes and threads created", "processes" },
    { "running", "1", GAUGE, U64, "tasks running or runnable", "procs_running" },
    { "blocked", "1", GAUGE, U64, "tasks waiting for storage", "procs_blocked" },
    { "softirqs", "1", COUNTER, U64, "software interrupts" },
};

#define METRICS (sizeof metrics / sizeof *metrics)
#define TIMES 10       /* the metrics of one CPU */
#define TIMES_BRIEF 8
#define CPUS_MAX 8192

static const struct set set = { "stat", metrics, METRICS }, brief_set = { "stat", metrics, TIMES_BRIEF };
static const struct set cpu_set = { "stat_cpu", metrics, TIMES, "cpu" };

struct stat_state {
    bool per_cpu;
    bool is_brief;
    uint64_t us_per_tick;
    struct textfile file;
    struct instances cpus;
    uint64_t last[METRICS];
};

static const struct setting settings[] = {
    { "per_cpu", SETTING_FLAG, "yes", offsetof(struct stat_state, per_cpu), "also the time of each CPU" },
    { .key = NULL },
};

static enum err stat_open(void *state, const struct sampler_context *context)
{
    struct stat_state *stat = state;
    long ticks = sysconf(_SC_CLK_TCK);
    stat->us_per_tick = 1000000 / (uint64_t)(ticks > 0 ? ticks : 100);
    stat->is_brief = context->is_brief;
    instances_init(&stat->cpus, TIMES, CPUS_MAX);
    return textfile_open(&stat->file, context->root, "/proc/stat", TEXTFILE_WHOLE);
}

/* Old kernels have fewer columns: the rest stays unknown. */
static void set_times(struct sample *sample, const char *at, size_t count, uint64_t *last, uint64_t us_per_tick)
{
    uint64_t ticks;
    for (size_t i = 0; i < count && scan_u64(&at, &ticks); i++)
        if (!__builtin_mul_overflow(ticks, us_per_tick, &ticks))
            counter_set(sample, i, ticks, &last[i]);
}

static enum err add_cpu(struct stat_state *stat, const char *line, uint64_t time_ns, struct batch *out)
{
    size_t size = strcspn(line, " \n");
    struct instance *cpu = instances_find(&stat->cpus, (struct bytes){ line, size });
    if (!cpu)
        return OK;
    struct sample *sample = batch_add(out, &cpu_set, time_ns, cpu->name);
    if (!sample)
        return NOMEM;
    set_times(sample, line + size, TIMES, cpu->last, stat->us_per_tick);
    return OK;
}

/* The kernel's key of a count. "softirq" is also the name of a CPU time, so the table cannot have it as source. */
static const char *key_of(const struct metric *metric)
{
    return metric->source ? metric->source : "softirq";
}

static void set_count(struct stat_state *stat, struct sample *total, const char *line)
{
    for (size_t i = TIMES; i < METRICS; i++) {
        const char *key = key_of(&metrics[i]);
        size_t size = strlen(key);
        uint64_t value;
        if (strncmp(line, key, size) != 0 || line[size] != ' ')
            continue;
        line += size;
        if (!scan_u64(&line, &value))
            return;
        if (metrics[i].kind == COUNTER)
            counter_set(total, i, value, &stat->last[i]);
        else
            sample_set_u64(total, i, value);
        return;
    }
}

/* Adds the CPUs and sets the counts of the total. The total is identified by its index, because batch_add may move
 * it. */
static enum err add_rest(struct stat_state *stat, size_t place, uint64_t time_ns, struct batch *out)
{
    enum err err = OK;
    instances_begin(&stat->cpus);
    for (const char *line = stat->file.text; line && !err; line = scan_next_line(line)) {
        if (strncmp(line, "cpu", 3) != 0)
            set_count(stat, &out->samples[place], line);
        else if (stat->per_cpu && line[3] >= '0' && line[3] <= '9')
            err = add_cpu(stat, line, time_ns, out);
    }
    return err;
}

static enum err stat_read(void *state, struct batch *out)
{
    struct stat_state *stat = state;
    enum err err = textfile_read(&stat->file);
    if (err)
        return err;
    uint64_t time_ns = clock_realtime_ns();
    size_t place = out->count;
    const char *times = scan_line(stat->file.text, "cpu ");
    struct sample *total = times ? batch_add(out, stat->is_brief ? &brief_set : &set, time_ns, "") : NULL;
    if (!total)
        return times ? NOMEM : CORRUPT;
    set_times(total, times, total->set->size < TIMES ? TIMES_BRIEF : TIMES, stat->last, stat->us_per_tick);
    return stat->is_brief ? OK : add_rest(stat, place, time_ns, out);
}

static void stat_close(void *state)
{
    struct stat_state *stat = state;
    textfile_close(&stat->file);
    instances_clear(&stat->cpus);
}

const struct sampler sampler_stat = {
    .name = "stat",
    .about = "CPU time of the node and of each CPU, context switches",
    .settings = settings,
    .set = &set,
    .state_size = sizeof(struct stat_state),
    .open = stat_open,
    .read = stat_read,
    .close = stat_close,
};
