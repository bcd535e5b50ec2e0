/* Energy of processors and memory (RAPL), from powercap, and from perf where powercap lacks a counter or is not
 * readable. One sample per package; and for each job its share by CPU time (samplers/energy_share.h). */
#include "samplers/all.h"

#include "base/clock.h"
#include "base/log.h"
#include "samplers/rapl_jobs.h"

#include <string.h>

static const struct metric metrics[] = {
    { "package", "uJ", COUNTER, U64, "energy of the package: cores, caches, built-in graphics and controllers" },
    { "core", "uJ", COUNTER, U64, "energy of its cores" },
    { "uncore", "uJ", COUNTER, U64, "energy of its built-in graphics unit" },
    { "dram", "uJ", COUNTER, U64, "energy of the memory at this package" },
    { "psys", "uJ", COUNTER, U64, "energy of the whole node, as measured by its processors" },
    { "package_range", "uJ", GAUGE, U64, "value at which the kernel's counter of package wraps; ours does not wrap" },
    { "core_range", "uJ", GAUGE, U64, "the same for core" },
    { "uncore_range", "uJ", GAUGE, U64, "the same for uncore" },
    { "dram_range", "uJ", GAUGE, U64, "the same for dram" },
    { "psys_range", "uJ", GAUGE, U64, "the same for psys" },
};

/* The range of a domain is RAPL_DOMAINS after its energy. */
static const struct set set = { "rapl", metrics, 2 * RAPL_DOMAINS, "package" };
_Static_assert(sizeof metrics / sizeof *metrics == 2 * RAPL_DOMAINS, "a name for each metric");

struct rapl {
    const char *source;
    uint64_t share_period_ns;
    struct rapl_meters meters;
    struct rapl_jobs jobs;
    bool has_logged_unshared, has_logged_break;
};

static const struct setting settings[] = {
    { "source", SETTING_TEXT, "auto", offsetof(struct rapl, source),
      "powercap, perf, both: perf for what powercap lacks; auto: both, unless root is a captured tree" },
    { "share_period", SETTING_DURATION, "1s", offsetof(struct rapl, share_period_ns),
      "interval at which energy is attributed to jobs, if the sensor is read more often" },
    { .key = NULL },
};

static enum err find_meters(struct rapl *rapl, const char *root)
{
    bool any = !strcmp(rapl->source, "auto"), both = !strcmp(rapl->source, "both");
    bool only_powercap = !strcmp(rapl->source, "powercap"), only_perf = !strcmp(rapl->source, "perf");
    enum err powercap = ABSENT, perf = ABSENT;
    if (!any && !both && !only_powercap && !only_perf)
        return USAGE;
    if (!only_perf)
        powercap = rapl_powercap_find(root, &rapl->meters);
    if (only_perf || both || (any && !*root)) /* perf counts on this node, not on a captured one */
        perf = rapl_perf_find(root, &rapl->meters);
    if (!powercap || !perf)
        return OK;
    return powercap == DENIED || perf == DENIED ? DENIED : ABSENT;
}

static enum err rapl_open(void *state, const struct sampler_context *context)
{
    struct rapl *rapl = state;
    enum err err = find_meters(rapl, context->root);
    if (err) {
        rapl_meters_close(&rapl->meters);
        return err;
    }
    rapl_jobs_open(&rapl->jobs, context->root, &rapl->meters);
    return OK;
}

static void rapl_close(void *state)
{
    struct rapl *rapl = state;
    rapl_meters_close(&rapl->meters);
    rapl_jobs_close(&rapl->jobs);
}

static void log_break(struct rapl *rapl, const struct rapl_meter *meter)
{
    if (rapl->has_logged_break)
        return;
    log_warn("energy of %s (%s): the counter was reset, or was not read for so long that it may have wrapped unnoticed. One "
             "sample is left out, then counting restarts. If the agent was not stopped and the node not suspended, check the "
             "kernel log.", rapl->meters.units[meter->unit], metrics[meter->domain].name);
    rapl->has_logged_break = true;
}

/* The meters of a unit come in any order. */
static enum err add_samples(struct rapl *rapl, struct batch *out)
{
    struct rapl_meters *meters = &rapl->meters;
    size_t first = out->count;
    uint64_t now_ns = clock_realtime_ns();
    for (size_t i = 0; i < meters->unit_count; i++)
        if (!batch_add(out, &set, now_ns, meters->units[i]))
            return NOMEM;
    for (size_t i = 0; i < meters->count; i++) {
        struct rapl_meter *meter = &meters->meters[i];
        struct sample *sample = &out->samples[first + meter->unit];
        uint64_t uj;
        if (meter->reported_breaks != meter->breaks)
            log_break(rapl, meter);
        if (rapl_meter_value(meter, &uj))
            sample_set_u64(sample, meter->domain, uj);
        if (meter->range_uj)
            sample_set_u64(sample, RAPL_DOMAINS + meter->domain, meter->range_uj);
    }
    return OK;
}

/* An error of the shares does not affect the node's own energy. */
static void log_unshared(struct rapl *rapl, enum err err)
{
    if (!err || rapl->has_logged_unshared)
        return;
    log_warn("cannot attribute energy to jobs: %s. It is retried, and the node's own energy is still read; check that "
             "/proc/stat is readable.", err_text(err));
    rapl->has_logged_unshared = true;
}

static enum err rapl_read(void *state, struct batch *out)
{
    struct rapl *rapl = state;
    uint64_t now_ns = clock_monotonic_ns();
    if (!rapl_meters_read(&rapl->meters, now_ns))
        return IO;
    enum err err = add_samples(rapl, out);
    if (!err)
        log_unshared(rapl, rapl_jobs_round(&rapl->jobs, &rapl->meters, now_ns, rapl->share_period_ns, out));
    return err;
}

static void rapl_before_last_read(void *state)
{
    ((struct rapl *)state)->jobs.round_ns = 0; /* makes a distribution round due */
}

static uint64_t rapl_poll(void *state)
{
    struct rapl *rapl = state;
    rapl_meters_read(&rapl->meters, clock_monotonic_ns());
    return rapl_meters_max_interval_ns(&rapl->meters);
}

static enum err rapl_job(void *state, const struct job *job, enum job_event event, struct batch *out)
{
    struct rapl *rapl = state;
    if (event != JOB_CHANGE)
        rapl_meters_read(&rapl->meters, clock_monotonic_ns());
    log_unshared(rapl, rapl_jobs_event(&rapl->jobs, job, event, &rapl->meters, out));
    return OK;
}

const struct sampler sampler_rapl = {
    .name = "rapl",
    .about = "energy of processors and memory; attributed to jobs by CPU time",
    .settings = settings,
    .set = &set,
    .state_size = sizeof(struct rapl),
    .absent_reason = "There is no energy counter (RAPL) below /sys/class/powercap or in the perf PMU 'power'",
    .absent_fix = "On real hardware, load its driver: modprobe intel_rapl_msr; a virtual machine has none",
    .denied_fix = "Run the agent as root, give it CAP_PERFMON and CAP_DAC_READ_SEARCH, or allow everybody: "
                     "chmod a+r /sys/class/powercap/*/energy_uj",
    .open = rapl_open,
    .read = rapl_read,
    .poll = rapl_poll,
    .before_last_read = rapl_before_last_read,
    .job = rapl_job,
    .close = rapl_close,
};
