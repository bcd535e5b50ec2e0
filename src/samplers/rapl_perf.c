/* The perf PMU "power": events energy-pkg, energy-cores, energy-gpu, energy-ram, energy-psys with a .scale in J,
 * counted on one CPU of each package, as listed in cpumask. */
#include "samplers/rapl_meter.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/scan.h"
#include "proc/number.h"
#include "proc/perf_sysfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNIT "/sys/bus/event_source/devices/power"
#define SETTLE_MS 4 /* the hardware updates the counters every ms */

static const char *const event_names[RAPL_DOMAINS] = {
    [RAPL_PACKAGE] = "energy-pkg", [RAPL_CORE] = "energy-cores", [RAPL_UNCORE] = "energy-gpu",
    [RAPL_DRAM] = "energy-ram", [RAPL_PSYS] = "energy-psys",
};

/* The CPU on which an event is counted. */
struct rapl_cpu {
    int cpu;
    bool by_die; /* the dies of a package are counted separately */
};

static enum err read_scale(const char *root, const char *event, double *uj_per_count)
{
    char path[256], text[64], *end;
    snprintf(path, sizeof path, UNIT "/events/%s.scale", event);
    enum err err = file_read_line(root, path, text, sizeof text);
    if (err)
        return err;
    double joules = strtod(text, &end);
    if (end == text || *end || !(joules > 0 && joules < 1))
        return CORRUPT;
    *uj_per_count = joules * 1e6;
    return OK;
}

static uint64_t topology(const char *root, int cpu, const char *file)
{
    char path[128];
    uint64_t number = 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, file);
    number_file_u64(root, path, &number);
    return number;
}

/* Uses the same unit names as powercap. */
static void name_unit(const char *root, struct rapl_cpu place, enum rapl_domain domain, char unit[RAPL_NAME_MAX])
{
    unsigned package = (unsigned)topology(root, place.cpu, "physical_package_id");
    if (domain == RAPL_PSYS)
        snprintf(unit, RAPL_NAME_MAX, "psys");
    else if (place.by_die)
        snprintf(unit, RAPL_NAME_MAX, "package-%u-die-%u", package, (unsigned)topology(root, place.cpu, "die_id"));
    else
        snprintf(unit, RAPL_NAME_MAX, "package-%u", package);
}

static enum err add_event(const char *root, struct rapl_cpu place, enum rapl_domain domain, struct rapl_meters *meters)
{
    char name[64], unit[RAPL_NAME_MAX];
    struct perf_event_spec spec = { 0 };
    double uj_per_count;
    struct rapl_meter *meter;
    name_unit(root, place, domain, unit);
    snprintf(name, sizeof name, "power/%s/", event_names[domain]);
    if (rapl_meters_has(meters, unit, domain) || perf_sysfs_encode(root, name, &spec)
        || read_scale(root, event_names[domain], &uj_per_count))
        return ABSENT;
    struct perf_event_attr attr = { .type = spec.type, .size = sizeof attr, .config = spec.config };
    int fd = perf_event_open_call(&attr, -1, place.cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return err_from_errno(errno);
    enum err err = rapl_meters_add_take(meters, unit, domain, fd, &meter);
    if (err) {
        close(fd);
        return err;
    }
    meter->is_perf = true;
    meter->uj_per_count = uj_per_count;
    return OK;
}

/* OK if one of them worked; else DENIED if one was denied, because that can be fixed; else ABSENT. */
static enum err better(enum err a, enum err b)
{
    if (a == OK || b == OK)
        return OK;
    return a == DENIED || b == DENIED ? DENIED : ABSENT;
}

static enum err add_cpu(const char *root, struct rapl_cpu place, struct rapl_meters *meters)
{
    enum err worst = ABSENT;
    for (enum rapl_domain domain = 0; domain < RAPL_DOMAINS; domain++)
        worst = better(worst, add_event(root, place, domain, meters));
    return worst;
}

/* Drops counters that do not move: they would report 0 J. */
static void drop_still(struct rapl_meters *meters)
{
    struct timespec pause = { .tv_nsec = SETTLE_MS * (long)NS_PER_MS };
    nanosleep(&pause, NULL);
    rapl_meters_read(meters, clock_monotonic_ns());
    for (size_t i = meters->count; i-- > 0;)
        if (meters->meters[i].is_perf && (!meters->meters[i].known || !meters->meters[i].last))
            rapl_meters_drop(meters, i);
}

/* The next CPU of a list such as "0,24" or "0-1"; last is the end of the current range. */
static bool next_cpu(const char **at, uint64_t *cpu, uint64_t *last)
{
    if (*cpu < *last) {
        ++*cpu;
        return true;
    }
    *at += **at == ',';
    if (!scan_u64(at, cpu))
        return false;
    *last = *cpu;
    if (**at == '-') {
        ++*at;
        if (!scan_u64(at, last))
            return false;
    }
    return *cpu <= *last && *last < INT32_MAX;
}

/* More CPUs than packages: one CPU per die. */
static bool counts_by_die(const char *root, const char *cpus)
{
    uint64_t cpu = 0, last = 0, seen[RAPL_UNITS_MAX];
    size_t count = 0;
    while (count < RAPL_UNITS_MAX && next_cpu(&cpus, &cpu, &last)) {
        seen[count] = topology(root, (int)cpu, "physical_package_id");
        for (size_t i = 0; i < count; i++)
            if (seen[i] == seen[count])
                return true;
        count++;
    }
    return false;
}

enum err rapl_perf_find(const char *root, struct rapl_meters *meters)
{
    char text[1024];
    uint64_t cpu = 0, last = 0;
    size_t before = meters->count;
    enum err worst = ABSENT;
    if (file_read_line(root, UNIT "/cpumask", text, sizeof text))
        return ABSENT;
    const char *at = text;
    struct rapl_cpu place = { .by_die = counts_by_die(root, text) };
    while (meters->count < RAPL_METERS_MAX && next_cpu(&at, &cpu, &last)) {
        place.cpu = (int)cpu;
        worst = better(worst, add_cpu(root, place, meters));
    }
    if (worst)
        return worst;
    drop_still(meters);
    return meters->count > before ? OK : ABSENT;
}
