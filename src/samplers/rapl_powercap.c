/* Energy counters of powercap: /sys/class/powercap/intel-rapl:P (name "package-0", "psys") and intel-rapl:P:N ("core",
 * "dram" of that package); intel-rapl-mmio, another interface to the same counters, only where intel-rapl is missing. AMD
 * uses the same names; its "core" is left out, because it is that of a single core. Since Linux 5.10 only root may read
 * energy_uj, because power over time reveals what a processor computes. */
#include "samplers/rapl_meter.h"

#include "base/file.h"
#include "base/scan.h"
#include "proc/listing.h"
#include "proc/number.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define POWERCAP "/sys/class/powercap"

static enum err read_name(const char *root, const char *zone, char name[RAPL_NAME_MAX])
{
    char path[256];
    snprintf(path, sizeof path, POWERCAP "/%s/name", zone);
    return file_read_line(root, path, name, RAPL_NAME_MAX);
}

/* The unit of "intel-rapl:0:2" is the name of "intel-rapl:0"; that of a top-level zone is its own name. */
static enum err find_unit(const char *root, const char *zone, const char *name, char unit[RAPL_NAME_MAX])
{
    const char *first = strchr(zone, ':'), *last = strrchr(zone, ':');
    char parent[LISTING_NAME_MAX];
    if (first == last) {
        snprintf(unit, RAPL_NAME_MAX, "%s", name);
        return OK;
    }
    snprintf(parent, sizeof parent, "%.*s", (int)(last - zone), zone);
    return read_name(root, parent, unit);
}

/* AMD counts each core separately, and powercap reads the counter of one core only. */
static bool cores_are_one(const char *root)
{
    char text[512];
    if (file_read(root, "/proc/cpuinfo", text, sizeof text, NULL)) /* the first CPU is representative */
        return false;
    const char *vendor = scan_line(text, "vendor_id");
    vendor = vendor ? vendor + strspn(vendor, " \t:") : "";
    return !strncmp(vendor, "AuthenticAMD\n", 13) || !strncmp(vendor, "HygonGenuine\n", 13);
}

static enum err add_zone(const char *root, const char *zone, struct rapl_meters *meters)
{
    char name[RAPL_NAME_MAX], unit[RAPL_NAME_MAX], path[256];
    int fd;
    struct rapl_meter *meter;
    if (read_name(root, zone, name) || find_unit(root, zone, name, unit))
        return ABSENT;
    enum rapl_domain domain = rapl_domain_of(name);
    if (domain == RAPL_DOMAINS || rapl_meters_has(meters, unit, domain) || (domain == RAPL_CORE && cores_are_one(root)))
        return ABSENT;
    snprintf(path, sizeof path, POWERCAP "/%s/energy_uj", zone);
    enum err err = file_open(root, path, &fd);
    if (err)
        return err;
    err = rapl_meters_add_take(meters, unit, domain, fd, &meter);
    if (err) {
        close(fd);
        return err;
    }
    snprintf(path, sizeof path, POWERCAP "/%s/max_energy_range_uj", zone);
    number_file_u64(root, path, &meter->range_uj); /* without it, a wrap counts as a reset */
    return OK;
}

static enum err add_zones(const char *root, const char *prefix, struct rapl_meters *meters)
{
    struct listing zones = { 0 };
    size_t before = meters->count;
    enum err err = listing_read(&zones, root, POWERCAP, prefix), worst = ABSENT;
    for (size_t i = 0; !err && i < zones.count; i++)
        if (add_zone(root, zones.names[i], meters) == DENIED)
            worst = DENIED;
    listing_clear(&zones);
    return err ? err : meters->count > before ? OK : worst;
}

enum err rapl_powercap_find(const char *root, struct rapl_meters *meters)
{
    enum err msr = add_zones(root, "intel-rapl:", meters);
    enum err mmio = add_zones(root, "intel-rapl-mmio:", meters);
    if (msr == OK || mmio == OK)
        return OK;
    return msr == DENIED || mmio == DENIED ? DENIED : ABSENT;
}
