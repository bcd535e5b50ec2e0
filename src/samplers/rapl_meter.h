/* One energy counter of a processor: a file of powercap, which wraps, or a perf event, which does not. Each belongs to a
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
    bool known;      /* total_uj is as new as the last reading */
    bool began;      /* last has a meaning */
    enum rapl_domain domain;
    size_t unit;     /* place in rapl.units */
    uint64_t range_uj; /* of powercap: where it begins again from 0; 0: not known */
    double uj_per_count; /* of perf */
    uint64_t last, last_ns;
    double rest_uj;  /* of perf: what is less than 1 uJ */
    uint64_t total_uj; /* never falls: what is known to have been used, and where the counter stood at first */
    uint64_t breaks;   /* how often nobody could tell how far it went since the reading before */
    uint64_t reported_breaks, base_uj; /* of rapl_meter_value: those that were shown as a hole; where it counts from since */
};

struct rapl_meters {
    struct rapl_meter meters[RAPL_METERS_MAX];
    size_t count;
    char units[RAPL_UNITS_MAX][RAPL_NAME_MAX];
    size_t unit_count;
};

/* "package", "core", "uncore", "dram", "psys", as the kernel names them; RAPL_DOMAINS: none of them. */
enum rapl_domain rapl_domain_of(const char *name);

/* A meter that reads fd, which it takes on OK. FULL. */
enum err rapl_meters_add_take(struct rapl_meters *meters, const char *unit, enum rapl_domain domain, int fd,
                              struct rapl_meter **meter);
bool rapl_meters_has(const struct rapl_meters *meters, const char *unit, enum rapl_domain domain);
/* Closes one and takes it out; its unit too when it was the last of it. */
void rapl_meters_drop(struct rapl_meters *meters, size_t i);
void rapl_meters_close(struct rapl_meters *meters);

/* Reads all; one that fails is not known and the others go on. Returns how many are known. */
size_t rapl_meters_read(struct rapl_meters *meters, uint64_t now_ns);

/* What a sample has of it. False: not known. A break is left out once, and behind it counting begins anew: a hole, then a
 * smaller value, as samplers/counter.h has it. */
bool rapl_meter_value(struct rapl_meter *meter, uint64_t *uj);

/* Within what time they must be read again, so that no counter wraps twice in between; UINT64_MAX: none of them can. */
uint64_t rapl_meters_max_interval_ns(const struct rapl_meters *meters);

/* What a reading of powercap, or a count of perf, makes of the total. now_ns is CLOCK_MONOTONIC. */
void rapl_meter_take_uj(struct rapl_meter *meter, uint64_t uj, uint64_t now_ns);
void rapl_meter_take_count(struct rapl_meter *meter, uint64_t count, uint64_t now_ns);

#endif
