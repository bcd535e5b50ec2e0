/* Maps metric names to columns. */
#include "compat/colmet/fields.h"

#include <math.h>
#include <string.h>

#define KIB 1024
#define TICK_US 10000

static const struct colmet_field taskstats[] = {
    { "timeslices", "cpu_count", 1 },
    { "cpu_wait", "cpu_delay_total", 1 },
    { "blkio_waits", "blkio_count", 1 },
    { "blkio_wait", "blkio_delay_total", 1 },
    { "swapin_waits", "swapin_count", 1 },
    { "swapin_wait", "swapin_delay_total", 1 },
    { "cpu_real", "cpu_run_real_total", 1 },
    { "cpu", "cpu_run_virtual_total", 1 },
    { "begin", "ac_btime", 1 },
    { "elapsed", "ac_etime", 1 },
    { "user", "ac_utime", 1 },
    { "system", "ac_stime", 1 },
    { "minor_faults", "ac_minflt", 1 },
    { "major_faults", "ac_majflt", 1 },
    { "rss_time", "coremem", 1 },
    { "vm_time", "virtmem", 1 },
    { "rchar", "read_char", 1 },
    { "wchar", "write_char", 1 },
    { "syscr", "read_syscalls", 1 },
    { "syscw", "write_syscalls", 1 },
    { "read_bytes", "read_bytes", 1 },
    { "write_bytes", "write_bytes", 1 },
    { "cancelled_write_bytes", "cancelled_write_bytes", 1 },
    { "vol_ctxsw", "nvcsw", 1 },
    { "invol_ctxsw", "nivcsw", 1 },
    { "user_scaled", "ac_utimescaled", 1 },
    { "system_scaled", "ac_stimescaled", 1 },
    { "cpu_scaled", "cpu_scaled_run_real_total", 1 },
    { "reclaim_waits", "freepages_count", 1 },
    { "reclaim_wait", "freepages_delay_total", 1 },
};

static const struct colmet_field meminfo[] = {
    { "mem_total", "meminfo_memtotal", KIB },
    { "mem_free", "meminfo_memfree", KIB },
    { "buffers", "meminfo_buffers", KIB },
    { "cached", "meminfo_cached", KIB },
    { "swap_cached", "meminfo_swapcached", KIB },
    { "active", "meminfo_active", KIB },
    { "inactive", "meminfo_inactive", KIB },
    { "unevictable", "meminfo_unevictable", KIB },
    { "mlocked", "meminfo_mlocked", KIB },
    { "swap_total", "meminfo_swaptotal", KIB },
    { "swap_free", "meminfo_swapfree", KIB },
    { "dirty", "meminfo_dirty", KIB },
    { "writeback", "meminfo_writeback", KIB },
    { "anonymous", "meminfo_anonpages", KIB },
    { "mapped", "meminfo_mapped", KIB },
    { "shared", "meminfo_shmem", KIB },
    { "slab", "meminfo_slab", KIB },
    { "s_reclaimable", "meminfo_sreclaimable", KIB },
    { "s_unreclaim", "meminfo_sunreclaim", KIB },
    { "kernel_stack", "meminfo_kernelstack", KIB },
    { "page_tables", "meminfo_pagetables", KIB },
    { "nfs_unstable", "meminfo_nfs_unstable", KIB },
    { "bounce", "meminfo_bounce", KIB },
    { "writeback_tmp", "meminfo_writebacktmp", KIB },
    { "commit_limit", "meminfo_commitlimit", KIB },
    { "committed_as", "meminfo_committed_as", KIB },
    { "vmalloc_total", "meminfo_vmalloctotal", KIB },
    { "vmalloc_used", "meminfo_vmallocused", KIB },
    { "vmalloc_chunk", "meminfo_vmallocchunk", KIB },
    { "anon_huge_pages", "meminfo_anonhugepages", KIB },
    { "huge_pages_total", "meminfo_hugepages_total", 1 },
    { "huge_pages_free", "meminfo_hugepages_free", 1 },
    { "huge_pages_rsvd", "meminfo_hugepages_rsvd", 1 },
    { "huge_pages_surp", "meminfo_hugepages_surp", 1 },
    { "hugepagesize", "meminfo_hugepagesize", KIB },
    { "direct_map4k", "meminfo_directmap4k", KIB },
    { "direct_map2_m", "meminfo_directmap2m", KIB },
    { "hardware_corrupted", "meminfo_hardwarecorrupted", KIB },
};

static const struct colmet_field vmstat[] = {
    { "pgpgin", "vmstat_pgpgin", KIB },
    { "pgpgout", "vmstat_pgpgout", KIB },
    { "pswpin", "vmstat_pswpin", 1 },
    { "pswpout", "vmstat_pswpout", 1 },
    { "pgfault", "vmstat_pgfault", 1 },
    { "pgmajfault", "vmstat_pgmajfault", 1 },
};

/* In ticks of USER_HZ, 100 per second. rows.c adds the uptime. */
static const struct colmet_field stat[] = {
    { "user", "stat_cpu_user", TICK_US },
    { "nice", "stat_cpu_nice", TICK_US },
    { "system", "stat_cpu_system", TICK_US },
    { "idle", "stat_cpu_idle", TICK_US },
    { "iowait", "stat_cpu_iowait", TICK_US },
    { "irq", "stat_cpu_irq", TICK_US },
    { "softirq", "stat_cpu_softirq", TICK_US },
    { "steal", "stat_cpu_steal", TICK_US },
    { "guest", "stat_cpu_guest", TICK_US },
    { "guest_nice", "stat_cpu_guest_nice", TICK_US },
    { "idle", "uptime_idle", 1000000 },
    { "interrupts", "stat_intr", 1 },
    { "context_switches", "stat_ctxt", 1 },
    { "forks", "stat_processes", 1 },
    { "blocked", "stat_procs_blocked", 1 },
};

static const struct colmet_field loadavg[] = {
    { "load1", "loadavg_1min", 1 },
    { "load5", "loadavg_5min", 1 },
    { "load15", "loadavg_15min", 1 },
    { "runnable", "loadavg_runnable", 1 },
    { "tasks", "loadavg_total_threads", 1 },
};

static const struct colmet_field process[] = {
    { "rchar", "rchar", 1 },
    { "wchar", "wchar", 1 },
    { "syscr", "syscr", 1 },
    { "syscw", "syscw", 1 },
    { "read_bytes", "read_bytes", 1 },
    { "write_bytes", "write_bytes", 1 },
    { "cancelled_write_bytes", "cancelled_write_bytes", 1 },
    { "rss", "VmRSS", KIB },
    { "rss_shared", "RssShmem", KIB },
    { "vm", "VmSize", KIB },
};

static const struct colmet_field infiniband[] = {
    { "transmit", "portXmitData", 1 },
    { "receive", "portRcvData", 1 },
    { "transmit_packets", "portXmitPkts", 1 },
    { "receive_packets", "portRcvPkts", 1 },
};

static const struct colmet_field lustre[] = {
    { "reads", "lustre_nb_read", 1 },
    { "read", "lustre_bytes_read", 1 },
    { "writes", "lustre_nb_write", 1 },
    { "write", "lustre_bytes_write", 1 },
};

static const struct colmet_field ipmi[] = {
    { "power_average", "average_power_consumption", 1 },
};

#define FIELDS(table) (table), sizeof(table) / sizeof *(table)

static const struct colmet_source sources[] = {
    { "taskstats", COLMET_TASKSTATS, FIELDS(taskstats), false, false },
    { "process", COLMET_JOBPROC, FIELDS(process), false, false },
    { "meminfo", COLMET_PROCSTATS, FIELDS(meminfo), true, false },
    { "vmstat", COLMET_PROCSTATS, FIELDS(vmstat), true, false },
    { "stat", COLMET_PROCSTATS, FIELDS(stat), true, false },
    { "loadavg", COLMET_PROCSTATS, FIELDS(loadavg), true, false },
    { "infiniband", COLMET_INFINIBAND, FIELDS(infiniband), true, true },
    { "lustre", COLMET_LUSTRE, FIELDS(lustre), true, true },
    { "ipmi", COLMET_IPMI, FIELDS(ipmi), false, false },
    { "taskstats_default", COLMET_TASKSTATS, NULL, 0, false, false },
    { "procstats_default", COLMET_PROCSTATS, NULL, 0, false, false },
    { "infinibandstats_default", COLMET_INFINIBAND, NULL, 0, false, false },
    { "lustrestats_default", COLMET_LUSTRE, NULL, 0, false, false },
    { "perfhwstats_default", COLMET_PERFHW, NULL, 0, false, false },
    { "RAPLstats_default", COLMET_RAPL, NULL, 0, false, false },
    { "temperaturestats_default", COLMET_TEMPERATURE, NULL, 0, false, false },
    { "jobprocstats_default", COLMET_JOBPROC, NULL, 0, false, false },
    { "ipmipowerstats_default", COLMET_IPMI, NULL, 0, false, false },
    { "nvidiastats_default", COLMET_NVIDIA, NULL, 0, false, false },
    { "memory", COLMET_RUST_MEMORY, NULL, 0, false, false },
    { "cpu", COLMET_RUST_CPU, NULL, 0, false, false },
    { "perfhw", COLMET_RUST_PERFHW, NULL, 0, false, false },
};

_Static_assert(sizeof sources / sizeof *sources == COLMET_SOURCES, "a place for the maps of each");

const struct colmet_source *colmet_fields_source(const char *set)
{
    for (size_t i = 0; i < COLMET_SOURCES; i++)
        if (strcmp(sources[i].set, set) == 0)
            return &sources[i];
    return NULL;
}

static uint16_t find_metric(const struct set *set, const char *name)
{
    for (size_t i = 0; i < set->size; i++)
        if (strcmp(set->metrics[i].name, name) == 0)
            return (uint16_t)i;
    return COLMET_NOWHERE;
}

/* The first metric for a column that the set has. */
static void find_metrics(const struct colmet_source *source, const struct set *set, struct colmet_map *map)
{
    const struct colmet_backend *backend = &colmet_backends[source->backend];
    map->set_size = set->size;
    for (size_t c = 0; c < backend->count; c++) {
        map->at[c] = source->fields ? COLMET_NOWHERE : find_metric(set, backend->columns[c].name);
        map->metric[c] = backend->columns[c].name;
        map->divisor[c] = 1;
        for (size_t f = 0; source->fields && f < source->count && map->at[c] == COLMET_NOWHERE; f++)
            if (strcmp(source->fields[f].column, backend->columns[c].name) == 0) {
                map->at[c] = find_metric(set, source->fields[f].metric);
                map->metric[c] = source->fields[f].metric;
                map->divisor[c] = source->fields[f].divisor;
            }
    }
}

/* Sets are freed with their streams, and addresses are reused: compare names. */
static bool fits(const struct colmet_source *source, const struct set *set, const struct colmet_map *map)
{
    const struct colmet_backend *backend = &colmet_backends[source->backend];
    if (map->set_size != set->size)
        return false;
    for (size_t c = 0; c < backend->count; c++)
        if (map->at[c] != COLMET_NOWHERE && strcmp(set->metrics[map->at[c]].name, map->metric[c]) != 0)
            return false;
    return true;
}

const struct colmet_map *colmet_fields_map(struct colmet_fields *fields, const struct colmet_source *source,
                                           const struct set *set)
{
    size_t s = (size_t)(source - sources);
    struct colmet_map *maps = fields->maps[s];
    for (size_t i = 0; i < fields->used[s]; i++)
        if (fits(source, set, &maps[i]))
            return &maps[i];
    struct colmet_map *map = &maps[fields->next[s]];
    fields->next[s] = (uint8_t)((fields->next[s] + 1) % COLMET_VARIANTS);
    if (fields->used[s] < COLMET_VARIANTS)
        fields->used[s]++;
    find_metrics(source, set, map);
    return map;
}

static bool convert_f64(double number, enum colmet_type to, uint32_t divisor, union value *converted)
{
    number /= divisor;
    if (!isfinite(number))
        return false;
    if (to == COLMET_F32)
        converted->f64 = number;
    else if (to == COLMET_I64 && fabs(number) < 9e18)
        converted->i64 = (int64_t)number;
    else if (to != COLMET_I64 && number >= 0 && number < (to == COLMET_U32 ? 4e9 : 1.8e19))
        converted->u64 = (uint64_t)number;
    else
        return false;
    return true;
}

bool colmet_fields_convert(union value value, enum metric_type from, enum colmet_type to, uint32_t divisor,
                           union value *converted)
{
    if (from == F64)
        return convert_f64(value.f64, to, divisor, converted);
    bool is_negative = from == I64 && value.i64 < 0;
    if (to == COLMET_F32)
        converted->f64 = (from == I64 ? (double)value.i64 : (double)value.u64) / divisor;
    else if (to == COLMET_I64 && is_negative)
        converted->i64 = value.i64 / (int64_t)divisor;
    else if (is_negative || (to == COLMET_U32 && value.u64 / divisor > UINT32_MAX)
             || (to == COLMET_I64 && value.u64 / divisor > INT64_MAX))
        return false;
    else
        converted->u64 = value.u64 / divisor;
    return true;
}
