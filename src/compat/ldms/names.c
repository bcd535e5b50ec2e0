/* Only the exceptions are listed: LDMS uses the kernel's names, and most values have the same unit. */
#include "compat/ldms/names.h"

#include <string.h>

static const struct { const char *ours, *theirs; } names[] = {
    { "stat", "procstat2" },       { "interrupts", "procinterrupts" },   { "self", "dstat" },
    { "diskstats", "procdiskstats" }, { "netdev", "procnetdev2" },       { "nfs", "procnfs" },
    { "infiniband", "sysclassib" }, { "lustre", "lustre2_client" },      { "temperature", "coretemp" },
    { "ipmi", "ipmisensors" },     { "perf", "perfevent" },              { "process", "linux_proc" },
};

static const struct { const char *set, *ours; struct ldms_unit unit; } units[] = {
    { "meminfo", "B", { "kB", 1024 } },
    { "numa", "B", { "kB", 1024 } },
    { "vmstat", "B", { "", 1024 } }, /* pgpgin, pgpgout, nr_kernel_stack */
    { "stat", "us", { "jiffies", 10000 } }, /* USER_HZ is 100 on all supported platforms */
    { "stat_cpu", "us", { "jiffies", 10000 } },
    { "diskstats", "B", { "sectors", 512 } },
    { "diskstats", "us", { "msec", 1000 } },
};

const char *ldms_set_name(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].ours, name) == 0)
            return names[i].theirs;
    return name;
}

uint64_t ldms_component(const char *host)
{
    size_t size = strcspn(host, "."), first = size;
    uint64_t number = 0;
    while (first && host[first - 1] >= '0' && host[first - 1] <= '9')
        first--;
    for (; first < size; first++)
        if (__builtin_mul_overflow(number, (uint64_t)10, &number)
            || __builtin_add_overflow(number, (uint64_t)(host[first] - '0'), &number))
            return 0;
    return number;
}

struct ldms_unit ldms_unit_of(const struct set *set, const struct metric *metric)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(set->name, units[i].set) == 0 && strcmp(metric->unit, units[i].ours) == 0 && metric->type == U64)
            return units[i].unit;
    return (struct ldms_unit){ strcmp(metric->unit, "1") == 0 ? "" : metric->unit, 1 };
}
