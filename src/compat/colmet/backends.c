/* The columns of Colmet's backends. */
#include "compat/colmet/backends.h"

#include <string.h>

static const struct colmet_column taskstats[] = {
    { "cpu_count", COLMET_U64, COUNTER, "1" },
    { "cpu_delay_total", COLMET_U64, COUNTER, "ns" },
    { "blkio_count", COLMET_U64, COUNTER, "1" },
    { "blkio_delay_total", COLMET_U64, COUNTER, "ns" },
    { "swapin_count", COLMET_U64, COUNTER, "1" },
    { "swapin_delay_total", COLMET_U64, COUNTER, "ns" },
    { "cpu_run_real_total", COLMET_U64, COUNTER, "ns" },
    { "cpu_run_virtual_total", COLMET_U64, COUNTER, "ns" },
    { "ac_btime", COLMET_U32, GAUGE, "s" },
    { "ac_etime", COLMET_U64, GAUGE, "us" },
    { "ac_utime", COLMET_U64, COUNTER, "us" },
    { "ac_stime", COLMET_U64, COUNTER, "us" },
    { "ac_minflt", COLMET_U64, COUNTER, "1" },
    { "ac_majflt", COLMET_U64, COUNTER, "1" },
    { "coremem", COLMET_U64, COUNTER, "MB*us" },
    { "virtmem", COLMET_U64, COUNTER, "MB*us" },
    { "read_char", COLMET_U64, COUNTER, "B" },
    { "write_char", COLMET_U64, COUNTER, "B" },
    { "read_syscalls", COLMET_U64, COUNTER, "1" },
    { "write_syscalls", COLMET_U64, COUNTER, "1" },
    { "read_bytes", COLMET_U64, COUNTER, "B" },
    { "write_bytes", COLMET_U64, COUNTER, "B" },
    { "cancelled_write_bytes", COLMET_U64, COUNTER, "B" },
    { "nvcsw", COLMET_U64, COUNTER, "1" },
    { "nivcsw", COLMET_U64, COUNTER, "1" },
    { "ac_utimescaled", COLMET_U64, COUNTER, "us" },
    { "ac_stimescaled", COLMET_U64, COUNTER, "us" },
    { "cpu_scaled_run_real_total", COLMET_U64, COUNTER, "ns" },
    { "freepages_count", COLMET_U64, COUNTER, "1" },
    { "freepages_delay_total", COLMET_U64, COUNTER, "ns" },
};

static const struct colmet_column procstats[] = {
    { "uptime_total", COLMET_U64, GAUGE, "s" },
    { "uptime_idle", COLMET_U64, COUNTER, "s" },
    { "meminfo_memtotal", COLMET_U64, GAUGE, "kB" },
    { "meminfo_memfree", COLMET_U64, GAUGE, "kB" },
    { "meminfo_buffers", COLMET_U64, GAUGE, "kB" },
    { "meminfo_cached", COLMET_U64, GAUGE, "kB" },
    { "meminfo_swapcached", COLMET_U64, GAUGE, "kB" },
    { "meminfo_active", COLMET_U64, GAUGE, "kB" },
    { "meminfo_inactive", COLMET_U64, GAUGE, "kB" },
    { "meminfo_unevictable", COLMET_U64, GAUGE, "kB" },
    { "meminfo_mlocked", COLMET_U64, GAUGE, "kB" },
    { "meminfo_swaptotal", COLMET_U64, GAUGE, "kB" },
    { "meminfo_swapfree", COLMET_U64, GAUGE, "kB" },
    { "meminfo_dirty", COLMET_U64, GAUGE, "kB" },
    { "meminfo_writeback", COLMET_U64, GAUGE, "kB" },
    { "meminfo_anonpages", COLMET_U64, GAUGE, "kB" },
    { "meminfo_mapped", COLMET_U64, GAUGE, "kB" },
    { "meminfo_shmem", COLMET_U64, GAUGE, "kB" },
    { "meminfo_slab", COLMET_U64, GAUGE, "kB" },
    { "meminfo_sreclaimable", COLMET_U64, GAUGE, "kB" },
    { "meminfo_sunreclaim", COLMET_U64, GAUGE, "kB" },
    { "meminfo_kernelstack", COLMET_U64, GAUGE, "kB" },
    { "meminfo_pagetables", COLMET_U64, GAUGE, "kB" },
    { "meminfo_nfs_unstable", COLMET_U64, GAUGE, "kB" },
    { "meminfo_bounce", COLMET_U64, GAUGE, "kB" },
    { "meminfo_writebacktmp", COLMET_U64, GAUGE, "kB" },
    { "meminfo_commitlimit", COLMET_U64, GAUGE, "kB" },
    { "meminfo_committed_as", COLMET_U64, GAUGE, "kB" },
    { "meminfo_vmalloctotal", COLMET_U64, GAUGE, "kB" },
    { "meminfo_vmallocused", COLMET_U64, GAUGE, "kB" },
    { "meminfo_vmallocchunk", COLMET_U64, GAUGE, "kB" },
    { "meminfo_anonhugepages", COLMET_U64, GAUGE, "kB" },
    { "meminfo_hugepages_total", COLMET_U64, GAUGE, "1" },
    { "meminfo_hugepages_free", COLMET_U64, GAUGE, "1" },
    { "meminfo_hugepages_rsvd", COLMET_U64, GAUGE, "1" },
    { "meminfo_hugepages_surp", COLMET_U64, GAUGE, "1" },
    { "meminfo_hugepagesize", COLMET_U64, GAUGE, "kB" },
    { "meminfo_directmap4k", COLMET_U64, GAUGE, "kB" },
    { "meminfo_directmap2m", COLMET_U64, GAUGE, "kB" },
    { "vmstat_pgpgin", COLMET_U64, COUNTER, "kB" },
    { "vmstat_pgpgout", COLMET_U64, COUNTER, "kB" },
    { "vmstat_pswpin", COLMET_U64, COUNTER, "1" },
    { "vmstat_pswpout", COLMET_U64, COUNTER, "1" },
    { "vmstat_pgfault", COLMET_U64, COUNTER, "1" },
    { "vmstat_pgmajfault", COLMET_U64, COUNTER, "1" },
    { "stat_cpu_user", COLMET_U64, COUNTER, "ticks" },
    { "stat_cpu_nice", COLMET_U64, COUNTER, "ticks" },
    { "stat_cpu_system", COLMET_U64, COUNTER, "ticks" },
    { "stat_cpu_idle", COLMET_U64, COUNTER, "ticks" },
    { "stat_cpu_iowait", COLMET_U64, COUNTER, "ticks" },
    { "stat_cpu_irq", COLMET_U64, COUNTER, "ticks" },
    { "stat_cpu_softirq", COLMET_U64, COUNTER, "ticks" },
    { "stat_cpu_guest", COLMET_U64, COUNTER, "ticks" },
    { "stat_cpu_guest_nice", COLMET_U64, COUNTER, "ticks" },
    { "stat_intr", COLMET_U64, COUNTER, "1" },
    { "stat_ctxt", COLMET_U64, COUNTER, "1" },
    { "stat_processes", COLMET_U64, COUNTER, "1" },
    { "stat_procs_blocked", COLMET_U64, GAUGE, "1" },
    { "loadavg_1min", COLMET_F32, GAUGE, "1" },
    { "loadavg_5min", COLMET_F32, GAUGE, "1" },
    { "loadavg_15min", COLMET_F32, GAUGE, "1" },
    { "loadavg_runnable", COLMET_F32, GAUGE, "1" },
    { "loadavg_total_threads", COLMET_F32, GAUGE, "1" },
    /* not part of a record: */
    { "meminfo_hardwarecorrupted", COLMET_U64, GAUGE, "kB" },
    { "stat_cpu_steal", COLMET_U64, COUNTER, "ticks" },
};

static const struct colmet_column infiniband[] = {
    { "portXmitData", COLMET_I64, COUNTER, "B" },
    { "portRcvData", COLMET_I64, COUNTER, "B" },
    { "portXmitPkts", COLMET_I64, COUNTER, "1" },
    { "portRcvPkts", COLMET_I64, COUNTER, "1" },
};

static const struct colmet_column lustre[] = {
    { "lustre_nb_read", COLMET_U64, COUNTER, "1" },
    { "lustre_bytes_read", COLMET_U64, COUNTER, "B" },
    { "lustre_nb_write", COLMET_U64, COUNTER, "1" },
    { "lustre_bytes_write", COLMET_U64, COUNTER, "B" },
};

/* For perf, RAPL and temperatures: each uses the first ones. */
static const struct colmet_column counters[] = {
    { "counter_1", COLMET_I64, GAUGE, "1" },
    { "counter_2", COLMET_I64, GAUGE, "1" },
    { "counter_3", COLMET_I64, GAUGE, "1" },
    { "counter_4", COLMET_I64, GAUGE, "1" },
    { "counter_5", COLMET_I64, GAUGE, "1" },
    { "counter_6", COLMET_I64, GAUGE, "1" },
    { "counter_7", COLMET_I64, GAUGE, "1" },
    { "counter_8", COLMET_I64, GAUGE, "1" },
    { "counter_9", COLMET_I64, GAUGE, "1" },
    { "counter_10", COLMET_I64, GAUGE, "1" },
    { "counter_11", COLMET_I64, GAUGE, "1" },
    { "counter_12", COLMET_I64, GAUGE, "1" },
    { "counter_13", COLMET_I64, GAUGE, "1" },
    { "counter_14", COLMET_I64, GAUGE, "1" },
    { "counter_15", COLMET_I64, GAUGE, "1" },
    { "counter_16", COLMET_I64, GAUGE, "1" },
    { "counter_17", COLMET_I64, GAUGE, "1" },
    { "counter_18", COLMET_I64, GAUGE, "1" },
    { "counter_19", COLMET_I64, GAUGE, "1" },
    { "counter_20", COLMET_I64, GAUGE, "1" },
    { "counter_21", COLMET_I64, GAUGE, "1" },
    { "counter_22", COLMET_I64, GAUGE, "1" },
    { "counter_23", COLMET_I64, GAUGE, "1" },
    { "counter_24", COLMET_I64, GAUGE, "1" },
};

static const struct colmet_column jobproc[] = {
    { "rchar", COLMET_I64, COUNTER, "B" },
    { "wchar", COLMET_I64, COUNTER, "B" },
    { "syscr", COLMET_I64, COUNTER, "1" },
    { "syscw", COLMET_I64, COUNTER, "1" },
    { "read_bytes", COLMET_I64, COUNTER, "B" },
    { "write_bytes", COLMET_I64, COUNTER, "B" },
    { "cancelled_write_bytes", COLMET_I64, COUNTER, "B" },
    { "VmRSS", COLMET_I64, GAUGE, "kB" },
    { "RssShmem", COLMET_I64, GAUGE, "kB" },
    { "VmSize", COLMET_I64, GAUGE, "kB" },
};

static const struct colmet_column ipmi[] = {
    { "average_power_consumption", COLMET_I64, GAUGE, "W" },
};

static const struct colmet_column nvidia[] = {
    { "power", COLMET_I64, GAUGE, "W" },
    { "temperature", COLMET_I64, GAUGE, "C" },
    { "utilization-gpu", COLMET_I64, GAUGE, "%" },
    { "utilization-memory", COLMET_I64, GAUGE, "%" },
    { "memory-total", COLMET_I64, GAUGE, "MiB" },
    { "memory-free", COLMET_I64, GAUGE, "MiB" },
    { "memory-used", COLMET_I64, GAUGE, "MiB" },
};

static const struct colmet_column rust_memory[] = {
    { "cache", COLMET_I64, GAUGE, "B" },
    { "rss", COLMET_I64, GAUGE, "B" },
    { "rss_huge", COLMET_I64, GAUGE, "B" },
    { "shmem", COLMET_I64, GAUGE, "B" },
    { "mapped_file", COLMET_I64, GAUGE, "B" },
    { "dirty", COLMET_I64, GAUGE, "B" },
    { "writeback", COLMET_I64, GAUGE, "B" },
    { "swap", COLMET_I64, GAUGE, "B" },
    { "pgpgin", COLMET_I64, COUNTER, "1" },
    { "pgpgout", COLMET_I64, COUNTER, "1" },
    { "pgfault", COLMET_I64, COUNTER, "1" },
    { "pgmajfault", COLMET_I64, COUNTER, "1" },
    { "inactive_anon", COLMET_I64, GAUGE, "B" },
    { "active_anon", COLMET_I64, GAUGE, "B" },
    { "inactive_file", COLMET_I64, GAUGE, "B" },
    { "active_file", COLMET_I64, GAUGE, "B" },
    { "unevictable", COLMET_I64, GAUGE, "B" },
    { "hierarchical_memory_limit", COLMET_I64, GAUGE, "B" },
    { "hierarchical_memsw_limit", COLMET_I64, GAUGE, "B" },
    { "total_cache", COLMET_I64, GAUGE, "B" },
    { "total_rss", COLMET_I64, GAUGE, "B" },
    { "total_rss_huge", COLMET_I64, GAUGE, "B" },
    { "total_shmem", COLMET_I64, GAUGE, "B" },
    { "total_mapped_file", COLMET_I64, GAUGE, "B" },
    { "total_dirty", COLMET_I64, GAUGE, "B" },
    { "total_writeback", COLMET_I64, GAUGE, "B" },
    { "total_swap", COLMET_I64, GAUGE, "B" },
    { "total_pgpgin", COLMET_I64, COUNTER, "1" },
    { "total_pgpgout", COLMET_I64, COUNTER, "1" },
    { "total_pgfault", COLMET_I64, COUNTER, "1" },
    { "total_pgmajfault", COLMET_I64, COUNTER, "1" },
    { "total_inactive_anon", COLMET_I64, GAUGE, "B" },
    { "total_active_anon", COLMET_I64, GAUGE, "B" },
    { "total_inactive_file", COLMET_I64, GAUGE, "B" },
    { "total_active_file", COLMET_I64, GAUGE, "B" },
    { "total_unevictable", COLMET_I64, GAUGE, "B" },
};

static const struct colmet_column rust_cpu[] = {
    { "nr_periods", COLMET_I64, COUNTER, "1" },
    { "nr_throttled", COLMET_I64, COUNTER, "1" },
    { "throttled_time", COLMET_I64, COUNTER, "ns" },
};

static const struct colmet_column rust_perfhw[] = {
    { "cpu_cycles", COLMET_I64, GAUGE, "1" },
    { "instructions", COLMET_I64, GAUGE, "1" },
    { "cache_references", COLMET_I64, GAUGE, "1" },
    { "cache_misses", COLMET_I64, GAUGE, "1" },
    { "branch_instructions", COLMET_I64, GAUGE, "1" },
    { "branch_misses", COLMET_I64, GAUGE, "1" },
    { "bus_cycles", COLMET_I64, GAUGE, "1" },
    { "ref_cpu_cycles", COLMET_I64, GAUGE, "1" },
    { "cache_l1d", COLMET_I64, GAUGE, "1" },
    { "cache_ll", COLMET_I64, GAUGE, "1" },
    { "cache_dtlb", COLMET_I64, GAUGE, "1" },
    { "cache_itlb", COLMET_I64, GAUGE, "1" },
    { "cache_bpu", COLMET_I64, GAUGE, "1" },
    { "cache_node", COLMET_I64, GAUGE, "1" },
    { "cache_op_read", COLMET_I64, GAUGE, "1" },
    { "cache_op_prefetch", COLMET_I64, GAUGE, "1" },
    { "cache_result_access", COLMET_I64, GAUGE, "1" },
    { "cpu_clock", COLMET_I64, GAUGE, "ns" },
    { "task_clock", COLMET_I64, GAUGE, "ns" },
    { "page_faults", COLMET_I64, GAUGE, "1" },
    { "context_switches", COLMET_I64, GAUGE, "1" },
    { "cpu_migrations", COLMET_I64, GAUGE, "1" },
    { "page_faults_min", COLMET_I64, GAUGE, "1" },
    { "page_faults_maj", COLMET_I64, GAUGE, "1" },
    { "alignment_faults", COLMET_I64, GAUGE, "1" },
    { "emulation_faults", COLMET_I64, GAUGE, "1" },
    { "dummy", COLMET_I64, GAUGE, "1" },
    { "bpf_output", COLMET_I64, GAUGE, "1" },
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

const struct colmet_backend colmet_backends[COLMET_BACKENDS] = {
    [COLMET_TASKSTATS] = { COLMET_TASKSTATS, "taskstats_default", true, false, taskstats, COUNT(taskstats),
                           COUNT(taskstats), 762 },
    [COLMET_PROCSTATS] = { COLMET_PROCSTATS, "procstats_default", false, true, procstats, COUNT(procstats), 63, 9202 },
    [COLMET_INFINIBAND] = { COLMET_INFINIBAND, "infinibandstats_default", false, true, infiniband, 4, 4, 8750 },
    [COLMET_LUSTRE] = { COLMET_LUSTRE, "lustrestats_default", false, true, lustre, 4, 4, 8750 },
    [COLMET_PERFHW] = { COLMET_PERFHW, "perfhwstats_default", true, false, counters, COLMET_PERF_COUNTERS,
                        COLMET_PERF_COUNTERS, 566 },
    [COLMET_RAPL] = { COLMET_RAPL, "RAPLstats_default", false, true, counters, COLMET_RAPL_COUNTERS,
                      COLMET_RAPL_COUNTERS, 8910 },
    [COLMET_TEMPERATURE] = { COLMET_TEMPERATURE, "temperaturestats_default", false, false, counters,
                             COLMET_TEMPERATURE_COUNTERS, COLMET_TEMPERATURE_COUNTERS, 574 },
    [COLMET_JOBPROC] = { COLMET_JOBPROC, "jobprocstats_default", true, false, jobproc, COUNT(jobproc),
                         COUNT(jobproc), 606 },
    [COLMET_IPMI] = { COLMET_IPMI, "ipmipowerstats_default", false, true, ipmi, 1, 1, 8726 },
    [COLMET_NVIDIA] = { COLMET_NVIDIA, "nvidiastats_default", true, false, nvidia, COUNT(nvidia), COUNT(nvidia), 582 },
    [COLMET_RUST_MEMORY] = { COLMET_RUST_MEMORY, "memory", true, false, rust_memory, COUNT(rust_memory), 0, 0 },
    [COLMET_RUST_CPU] = { COLMET_RUST_CPU, "cpu", true, false, rust_cpu, COUNT(rust_cpu), 0, 0 },
    [COLMET_RUST_PERFHW] = { COLMET_RUST_PERFHW, "perfhw", true, false, rust_perfhw, COUNT(rust_perfhw), 0, 0 },
};

_Static_assert(COUNT(procstats) <= COLMET_COLUMNS_MAX, "the most columns of a backend");

const struct colmet_backend *colmet_backend_find(const char *name)
{
    for (size_t i = 0; i < COLMET_BACKENDS; i++)
        if (strcmp(colmet_backends[i].name, name) == 0)
            return &colmet_backends[i];
    return NULL;
}

enum metric_type colmet_model_type(enum colmet_type type)
{
    return type == COLMET_I64 ? I64 : type == COLMET_F32 ? F64 : U64;
}

size_t colmet_type_size(enum colmet_type type)
{
    return type == COLMET_U32 || type == COLMET_F32 ? 4 : 8;
}
