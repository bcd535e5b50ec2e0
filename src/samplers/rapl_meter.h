/* Energy counters of a processor: a file of powercap, which wraps, or a perf event, which does not. Each belongs to a
 * unit (package-0, psys), which becomes an instance, and to a domain, which becomes a metric. */
#ifndef SONDE_SAMPLERS_RAPL_METER_H
#define SONDE_SAMPLERS_RAPL_METER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RAPL_METERS_MAX 128
#define RAPL_UNITS_MAX 64
#define RAPL_NAME_MAX 32

enum rapl_domain { RAPL_PACKAGE, RAPL_CORE, RAPL_UNCORE, RAPL_DRAM, RAPL_PSYS, RAPL_DOMAINS };

struct rapl_meter {
    int fd;
    bool is_perf;
    bool known;      /* total_uj is of the last reading */
    bool began;      /* last is valid */
    enum rapl_domain domain;
    size_t unit;     /* index in rapl_meters.units */
    uint64_t range_uj; /* powercap: the counter wraps to 0 here; 0: unknown */
    double uj_per_count; /* perf only */
    uint64_t last, last_ns;
    double rest_uj;  /* perf: fraction of a uJ not yet in total_uj */
    uint64_t total_uj; /* never decreases: the first value of the counter plus what was used since */
    uint64_t breaks;   /* times that the increase since the last reading was unknown */
    uint64_t reported_breaks, base_uj; /* of rapl_meter_value: breaks already reported as a gap, and the base since
                                        * then */
};

struct rapl_meters {
    struct rapl_meter meters[RAPL_METERS_MAX];
    size_t count;
    char units[RAPL_UNITS_MAX][RAPL_NAME_MAX];
    size_t unit_count;
};

/* Maps the kernel's name "package", "core", "uncore", "dram" or "psys"; RAPL_DOMAINS: none of them. */
enum rapl_domain rapl_domain_of(const char *name);

/* Adds a meter that reads fd, and takes over fd on OK. FULL. */
enum err rapl_meters_add_take(struct rapl_meters *meters, const char *unit, enum rapl_domain domain, int fd,
                              struct rapl_meter **meter);
bool rapl_meters_has(const struct rapl_meters *meters, const char *unit, enum rapl_domain domain);
/* Closes and removes a meter, and its unit with the last meter of it. */
void rapl_meters_drop(struct rapl_meters *meters, size_t i);
void rapl_meters_close(struct rapl_meters *meters);

/* Reads all; a meter that fails is unknown this time. Returns how many are known. */
size_t rapl_meters_read(struct rapl_meters *meters, uint64_t now_ns);

/* The value for a sample. False: unknown. After a break the value is left out once and then restarts: a gap, then a
 * smaller value, as in samplers/counter.h. */
bool rapl_meter_value(struct rapl_meter *meter, uint64_t *uj);

/* The longest time between two readings in which no counter can wrap twice; UINT64_MAX: none of them wraps. */
uint64_t rapl_meters_max_interval_ns(const struct rapl_meters *meters);

/* Updates the total from a powercap value, or from a perf count. now_ns is CLOCK_MONOTONIC. */
void rapl_meter_take_uj(struct rapl_meter *meter, uint64_t uj, uint64_t now_ns);
void rapl_meter_take_count(struct rapl_meter *meter, uint64_t count, uint64_t now_ns);

/* The two sources of meters. Each adds the counters that it can read and that meters does not have yet. ABSENT: it has
 * none; DENIED: this user may not read them (perf: see kernel.perf_event_paranoid). rapl_perf_find takes a few ms, because
 * it leaves out counters that do not move, as in virtual machines. */
enum err rapl_powercap_find(const char *root, struct rapl_meters *meters);
enum err rapl_perf_find(const char *root, struct rapl_meters *meters);

#endif
