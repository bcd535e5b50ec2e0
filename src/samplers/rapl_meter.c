/* Energy counters: one pread each, corrected for wraps. */
#include "samplers/rapl_meter.h"

#include "base/clock.h"
#include "proc/number.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const domain_names[RAPL_DOMAINS] = { "package", "core", "uncore", "dram", "psys" };

/* More than any such domain can draw: a larger increase means that the counter was reset, or wrapped unnoticed. */
static const uint64_t most_watts[RAPL_DOMAINS] = { 1000, 1000, 250, 250, 4000 };

enum rapl_domain rapl_domain_of(const char *name)
{
    if (!strncmp(name, "package-", strlen("package-"))) /* "package-0", "package-0-die-1" */
        return RAPL_PACKAGE;
    enum rapl_domain domain = 0;
    while (domain < RAPL_DOMAINS && strcmp(name, domain_names[domain]) != 0)
        domain++;
    return domain;
}

static size_t find_unit(const struct rapl_meters *meters, const char *unit)
{
    size_t i = 0;
    while (i < meters->unit_count && strcmp(meters->units[i], unit) != 0)
        i++;
    return i;
}

enum err rapl_meters_add_take(struct rapl_meters *meters, const char *unit, enum rapl_domain domain, int fd,
                              struct rapl_meter **meter)
{
    size_t at = find_unit(meters, unit);
    if (meters->count == RAPL_METERS_MAX || at == RAPL_UNITS_MAX)
        return FULL;
    if (at == meters->unit_count) {
        if (snprintf(meters->units[at], RAPL_NAME_MAX, "%s", unit) >= RAPL_NAME_MAX)
            return FULL;
        meters->unit_count++;
    }
    *meter = &meters->meters[meters->count++];
    **meter = (struct rapl_meter){ .fd = fd, .domain = domain, .unit = at };
    return OK;
}

bool rapl_meters_has(const struct rapl_meters *meters, const char *unit, enum rapl_domain domain)
{
    size_t at = find_unit(meters, unit);
    for (size_t i = 0; i < meters->count; i++)
        if (meters->meters[i].unit == at && meters->meters[i].domain == domain)
            return true;
    return false;
}

static void drop_unit_when_empty(struct rapl_meters *meters, size_t unit)
{
    for (size_t i = 0; i < meters->count; i++)
        if (meters->meters[i].unit == unit)
            return;
    meters->unit_count--;
    memmove(meters->units[unit], meters->units[unit + 1], (meters->unit_count - unit) * RAPL_NAME_MAX);
    for (size_t i = 0; i < meters->count; i++)
        meters->meters[i].unit -= meters->meters[i].unit > unit;
}

void rapl_meters_drop(struct rapl_meters *meters, size_t i)
{
    size_t unit = meters->meters[i].unit;
    close(meters->meters[i].fd);
    meters->count--;
    memmove(&meters->meters[i], &meters->meters[i + 1], (meters->count - i) * sizeof *meters->meters);
    drop_unit_when_empty(meters, unit);
}

void rapl_meters_close(struct rapl_meters *meters)
{
    for (size_t i = 0; i < meters->count; i++)
        close(meters->meters[i].fd);
    meters->count = meters->unit_count = 0;
}

/* Upper bound of the energy used since the last reading; one second is added for readings in quick succession. */
static uint64_t most_uj(const struct rapl_meter *meter, uint64_t now_ns)
{
    return ((now_ns - meter->last_ns) / NS_PER_US + 1000000) * most_watts[meter->domain];
}

/* The increase of the counter, including one wrap. False: unknown. */
static bool advance_uj(const struct rapl_meter *meter, uint64_t uj, uint64_t now_ns, uint64_t *by_uj)
{
    uint64_t most = most_uj(meter, now_ns);
    if (meter->range_uj && most >= meter->range_uj + most_watts[meter->domain] * 1000000)
        return false; /* it may have wrapped more than once */
    if (uj >= meter->last)
        *by_uj = uj - meter->last;
    else if (meter->range_uj > meter->last)
        *by_uj = meter->range_uj - meter->last + uj;
    else
        return false;
    return *by_uj <= most;
}

void rapl_meter_take_uj(struct rapl_meter *meter, uint64_t uj, uint64_t now_ns)
{
    uint64_t by_uj;
    if (!meter->began)
        meter->total_uj = uj;
    else if (advance_uj(meter, uj, now_ns, &by_uj))
        meter->total_uj += by_uj;
    else
        meter->breaks++;
    meter->began = true;
    meter->last = uj;
    meter->last_ns = now_ns;
}

bool rapl_meter_value(struct rapl_meter *meter, uint64_t *uj)
{
    if (meter->reported_breaks != meter->breaks) {
        meter->reported_breaks = meter->breaks;
        meter->base_uj = meter->total_uj;
        return false;
    }
    *uj = meter->total_uj - meter->base_uj;
    return meter->known;
}

/* Half the time in which it can wrap, because the caller may be late. */
uint64_t rapl_meters_max_interval_ns(const struct rapl_meters *meters)
{
    uint64_t within_ns = UINT64_MAX;
    for (size_t i = 0; i < meters->count; i++) {
        const struct rapl_meter *meter = &meters->meters[i];
        uint64_t half_us = meter->range_uj / most_watts[meter->domain] / 2;
        if (meter->range_uj && half_us < within_ns / NS_PER_US)
            within_ns = half_us * NS_PER_US;
    }
    return within_ns;
}

/* The count has 64 bits in units of 2^-32 J, which a node uses up within two months, but differences stay correct. A
 * count that went back looks like an increase by nearly the whole range. */
void rapl_meter_take_count(struct rapl_meter *meter, uint64_t count, uint64_t now_ns)
{
    double uj = (double)(count - meter->last) * meter->uj_per_count + meter->rest_uj;
    if (meter->began && uj > (double)most_uj(meter, now_ns)) {
        meter->breaks++;
        uj = 0;
    }
    uint64_t whole_uj = (uint64_t)uj;
    meter->rest_uj = uj - (double)whole_uj;
    meter->total_uj += whole_uj;
    meter->last = count;
    meter->last_ns = now_ns;
    meter->began = true;
}

static bool meter_read(struct rapl_meter *meter, uint64_t now_ns)
{
    uint64_t value;
    if (meter->is_perf) {
        if (read(meter->fd, &value, sizeof value) != sizeof value)
            return false;
        rapl_meter_take_count(meter, value, now_ns);
        return true;
    }
    if (number_read_u64(meter->fd, &value))
        return false;
    rapl_meter_take_uj(meter, value, now_ns);
    return true;
}

size_t rapl_meters_read(struct rapl_meters *meters, uint64_t now_ns)
{
    size_t count = 0;
    for (size_t i = 0; i < meters->count; i++) {
        meters->meters[i].known = meter_read(&meters->meters[i], now_ns);
        count += meters->meters[i].known;
    }
    return count;
}
