/* Energy of the processors and of memory, as the processors count it (RAPL): from powercap, and from perf what
 * powercap does not have or not for this user. One sample per package; and for each job its share by CPU time
 * (samplers/energy_share.h). */
#include "samplers/all.h"

#include "base/clock.h"
#include "base/log.h"
#include "samplers/rapl_jobs.h"
#include "samplers/rapl_perf.h"
#include "samplers/rapl_powercap.h"

#include <string.h>

static const struct metric metrics[] = {
    { "package", "uJ", COUNTER, U64, "energy of the package: cores, caches, built-in graphics and controllers" },
    { "core", "uJ", COUNTER, U64, "energy of its cores" },
    { "uncore", "uJ", COUNTER, U64, "energy of its built-in graphics unit" },
    { "dram", "uJ", COUNTER, U64, "energy of the memory at this package" },
    { "psys", "uJ", COUNTER, U64, "energy of the whole node, as its processors measure it" },
    { "package_range", "uJ", GAUGE, U64, "where the kernel's own counter of package wraps; ours does not" },
    { "core_range", "uJ", GAUGE, U64, "the same of core" },
    { "uncore_range", "uJ", GAUGE, U64, "the same of uncore" },
    { "dram_range", "uJ", GAUGE, U64, "the same of dram" },
    { "psys_range", "uJ", GAUGE, U64, "the same of psys" },
};

/* A range stands RAPL_DOMAINS places behind its energy. */
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
      "powercap, perf, both: perf for what powercap lacks; auto: both, where this machine is read" },
    { "share_period", SETTING_DURATION, "1s", offsetof(struct rapl, share_period_ns),
      "how often energy is shared out to jobs, where the sensor is read more often" },
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
    if (only_perf || both || (any && !*root)) /* perf counts on this machine, not on a captured one */
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
    log_warn("the energy of %s (%s) is left out once, then counted anew: its counter was reset, or nobody read it for so long "
             "that it may have wrapped unseen. If the agent was not stopped, nor the node asleep, see the kernel's log.",
             rapl->meters.units[meter->unit], metrics[meter->domain].name);
    rapl->has_logged_break = true;
}

/* The meters of a unit stand in any order. */
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

/* The node's own energy does not depend on whose it was. */
static void log_unshared(struct rapl *rapl, enum err err)
{
    if (!err || rapl->has_logged_unshared)
        return;
    log_warn("cannot share energy out to jobs: %s. It is tried again, and the node's own is read all the same; see whether "
             "/proc/stat is whole.", err_text(err));
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
    ((struct rapl *)state)->jobs.round_ns = 0; /* energy is shared out now, due or not */
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
    .about = "energy of processors and memory; shared out to jobs by CPU time",
    .settings = settings,
    .set = &set,
    .state_size = sizeof(struct rapl),
    .absent_reason = "There is no energy counter (RAPL) below /sys/class/powercap or in perf's unit 'power'",
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
