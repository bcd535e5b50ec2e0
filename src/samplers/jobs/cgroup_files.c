/* One row per file; numbers are found by name. Units of v1 are converted to those of v2. */
#include "samplers/jobs/cgroup_files.h"

#include "base/scan.h"
#include "samplers/stacked_device.h"

#include <linux/major.h>
#include <stdio.h>
#include <string.h>

#define UNLIMITED (1ull << 62) /* v1 writes "no limit" as a number near the maximum */
#define CONTROLLER_UNIFIED CONTROLLERS

/* The format of a file. */
enum cgroup_file_format {
    FORMAT_NUMBER,   /* one number, or "max" */
    FORMAT_KEYS,     /* "key number" on each line */
    FORMAT_IO,       /* "8:0 rbytes=1 wbytes=2 …" */
    FORMAT_BLKIO,    /* "8:0 Read 1" */
    FORMAT_PRESSURE, /* "some avg10=0.00 … total=1" */
};

struct cgroup_key {
    const char *name;
    enum cgroup_metric metric;
    uint32_t times, parts; /* conversion to our unit: times / parts; 0: none */
};

struct cgroup_file {
    const char *name;
    enum cgroup_controller controller;
    enum cgroup_file_format format;
    bool is_limit, is_fallback;
    struct cgroup_key keys[8]; /* terminated by an entry without a name */
};

#define NUMBER(metric) .format = FORMAT_NUMBER, .keys = { { "", CGROUP_##metric } }
#define NUMBER_NS(metric) .format = FORMAT_NUMBER, .keys = { { "", CGROUP_##metric, 1, 1000 } }
#define PRESSURE(what) \
    { #what ".pressure", CONTROLLER_UNIFIED, FORMAT_PRESSURE, \
      .keys = { { "some", CGROUP_##what##_some }, { "full", CGROUP_##what##_full } } }

static const struct cgroup_file list_v2[] = {
    { "cpu.stat", CONTROLLER_UNIFIED, FORMAT_KEYS,
      .keys = { { "usage_usec", CGROUP_cpu }, { "user_usec", CGROUP_cpu_user }, { "system_usec", CGROUP_cpu_system },
                { "nr_periods", CGROUP_cpu_periods }, { "nr_throttled", CGROUP_cpu_throttled_periods },
                { "throttled_usec", CGROUP_cpu_throttled } } },
    { "memory.current", CONTROLLER_UNIFIED, NUMBER(memory) },
    { "memory.peak", CONTROLLER_UNIFIED, NUMBER(memory_peak) },
    { "memory.max", CONTROLLER_UNIFIED, NUMBER(memory_limit), .is_limit = true },
    { "memory.stat", CONTROLLER_UNIFIED, FORMAT_KEYS,
      .keys = { { "anon", CGROUP_memory_anonymous }, { "file", CGROUP_memory_file }, { "kernel", CGROUP_memory_kernel },
                { "shmem", CGROUP_memory_shared }, { "pgfault", CGROUP_page_faults },
                { "pgmajfault", CGROUP_major_page_faults } } },
    { "memory.swap.current", CONTROLLER_UNIFIED, NUMBER(swap) },
    { "memory.swap.peak", CONTROLLER_UNIFIED, NUMBER(swap_peak) },
    { "memory.swap.max", CONTROLLER_UNIFIED, NUMBER(swap_limit), .is_limit = true },
    { "memory.events", CONTROLLER_UNIFIED, FORMAT_KEYS,
      .keys = { { "max", CGROUP_memory_limit_hits }, { "oom_kill", CGROUP_oom_kills } } },
    { "io.stat", CONTROLLER_UNIFIED, FORMAT_IO,
      .keys = { { "rbytes", CGROUP_io_read }, { "wbytes", CGROUP_io_written }, { "rios", CGROUP_io_reads },
                { "wios", CGROUP_io_writes } } },
    { "pids.current", CONTROLLER_UNIFIED, NUMBER(pids) },
    { "pids.peak", CONTROLLER_UNIFIED, NUMBER(pids_peak) },
    { "pids.max", CONTROLLER_UNIFIED, NUMBER(pids_limit), .is_limit = true },
    PRESSURE(cpu),
    PRESSURE(memory),
    PRESSURE(io),
};

/* The recursive files of blkio exist since Linux 5.2; before, only requests of the cgroup itself are counted, not of
 * its steps. */
#define BLKIO_BYTES .format = FORMAT_BLKIO, .keys = { { "Read", CGROUP_io_read }, { "Write", CGROUP_io_written } }
#define BLKIO_COUNTS .format = FORMAT_BLKIO, .keys = { { "Read", CGROUP_io_reads }, { "Write", CGROUP_io_writes } }

static const struct cgroup_file list_v1[] = {
    { "cpuacct.usage", CONTROLLER_CPUACCT, NUMBER_NS(cpu) },
    { "cpuacct.usage_user", CONTROLLER_CPUACCT, NUMBER_NS(cpu_user) },
    { "cpuacct.usage_sys", CONTROLLER_CPUACCT, NUMBER_NS(cpu_system) },
    { "cpuacct.stat", CONTROLLER_CPUACCT, FORMAT_KEYS, .is_fallback = true, /* in ticks of 10 ms on every architecture */
      .keys = { { "user", CGROUP_cpu_user, 10000, 1 }, { "system", CGROUP_cpu_system, 10000, 1 } } },
    { "cpu.stat", CONTROLLER_CPU, FORMAT_KEYS,
      .keys = { { "nr_periods", CGROUP_cpu_periods }, { "nr_throttled", CGROUP_cpu_throttled_periods },
                { "throttled_time", CGROUP_cpu_throttled, 1, 1000 } } },
    { "memory.usage_in_bytes", CONTROLLER_MEMORY, NUMBER(memory) },
    { "memory.max_usage_in_bytes", CONTROLLER_MEMORY, NUMBER(memory_peak) },
    { "memory.limit_in_bytes", CONTROLLER_MEMORY, NUMBER(memory_limit), .is_limit = true },
    { "memory.stat", CONTROLLER_MEMORY, FORMAT_KEYS,
      .keys = { { "total_rss", CGROUP_memory_anonymous }, { "total_cache", CGROUP_memory_file },
                { "total_shmem", CGROUP_memory_shared }, { "total_swap", CGROUP_swap },
                { "total_pgfault", CGROUP_page_faults }, { "total_pgmajfault", CGROUP_major_page_faults } } },
    { "memory.kmem.usage_in_bytes", CONTROLLER_MEMORY, NUMBER(memory_kernel) },
    { "memory.failcnt", CONTROLLER_MEMORY, NUMBER(memory_limit_hits) },
    { "memory.oom_control", CONTROLLER_MEMORY, FORMAT_KEYS, .keys = { { "oom_kill", CGROUP_oom_kills } } },
    { "blkio.throttle.io_service_bytes_recursive", CONTROLLER_BLKIO, BLKIO_BYTES },
    { "blkio.throttle.io_serviced_recursive", CONTROLLER_BLKIO, BLKIO_COUNTS },
    { "blkio.throttle.io_service_bytes", CONTROLLER_BLKIO, BLKIO_BYTES, .is_fallback = true },
    { "blkio.throttle.io_serviced", CONTROLLER_BLKIO, BLKIO_COUNTS, .is_fallback = true },
    { "pids.current", CONTROLLER_PIDS, NUMBER(pids) },
    { "pids.peak", CONTROLLER_PIDS, NUMBER(pids_peak) },
    { "pids.max", CONTROLLER_PIDS, NUMBER(pids_limit), .is_limit = true },
    PRESSURE(cpu),
    PRESSURE(memory),
    PRESSURE(io),
};

const struct cgroup_files cgroup_files_v1 = { list_v1, sizeof list_v1 / sizeof *list_v1 };
const struct cgroup_files cgroup_files_v2 = { list_v2, sizeof list_v2 / sizeof *list_v2 };
_Static_assert(sizeof list_v1 / sizeof *list_v1 <= CGROUP_FILES_MAX, "capacity for each file");
_Static_assert(sizeof list_v2 / sizeof *list_v2 <= CGROUP_FILES_MAX, "capacity for each file");

const struct cgroup_file *cgroup_file_at(const struct cgroup_files *files, size_t i)
{
    return &files->list[i];
}

const char *cgroup_file_name(const struct cgroup_file *file)
{
    return file->name;
}

size_t cgroup_file_hierarchy(const struct cgroup_file *file, const struct hierarchies *hierarchies)
{
    return file->controller == CONTROLLER_UNIFIED ? hierarchies->unified : hierarchies->of[file->controller];
}

bool cgroup_file_is_limit(const struct cgroup_file *file)
{
    return file->is_limit;
}

bool cgroup_file_is_redundant(const struct cgroup_file *file, const struct cgroup_values *values)
{
    return file->is_fallback && values->known[file->keys[0].metric];
}

static void set(struct cgroup_values *values, const struct cgroup_key *key, uint64_t value)
{
    if (key->parts)
        value = value / key->parts * key->times + value % key->parts * key->times / key->parts;
    values->values[key->metric] = value;
    values->known[key->metric] = 1;
}

static void add(struct cgroup_values *values, const struct cgroup_key *key, uint64_t value)
{
    values->values[key->metric] += value;
    values->known[key->metric] = 1;
}

/* Finds the key of size bytes at text. */
static const struct cgroup_key *find_key(const struct cgroup_file *file, const char *text, size_t size)
{
    for (const struct cgroup_key *key = file->keys; key < file->keys + 8 && key->name; key++)
        if (key->name[0] == text[0] && !strncmp(key->name, text, size) && !key->name[size])
            return key;
    return NULL;
}

static void parse_number(const struct cgroup_file *file, const char *text, struct cgroup_values *values)
{
    uint64_t value;
    if (scan_u64(&text, &value) && (*text == '\n' || !*text) && !(file->is_limit && value >= UNLIMITED))
        set(values, &file->keys[0], value);
}

static void parse_keys(const struct cgroup_file *file, const char *text, struct cgroup_values *values)
{
    for (const char *line = text; line; line = scan_next_line(line)) {
        size_t size = strcspn(line, " \n");
        const char *at = line + size;
        uint64_t value;
        const struct cgroup_key *key = size && *at == ' ' ? find_key(file, line, size) : NULL;
        if (key && scan_u64(&at, &value))
            set(values, key, value);
    }
}

/* A loop device counts as stacked even if its file was detached and /sys no longer shows it. */
static bool is_stacked_device(const char *root, uint32_t major, uint32_t minor)
{
    char directory[64];
    snprintf(directory, sizeof directory, "/sys/dev/block/%u:%u", major, minor);
    return major == LOOP_MAJOR || stacked_device_check(root, directory);
}

static bool is_stacked(struct cgroup_devices *devices, uint32_t major, uint32_t minor)
{
    for (size_t i = 0; i < devices->count; i++)
        if (devices->list[i].major == major && devices->list[i].minor == minor)
            return devices->list[i].is_stacked;
    bool stacked = is_stacked_device(devices->root, major, minor);
    if (devices->count < sizeof devices->list / sizeof *devices->list)
        devices->list[devices->count++] = (struct cgroup_device){ major, minor, stacked };
    return stacked;
}

/* Parses "8:0 " and advances *at. False: no device, or a stacked one. */
static bool parse_device(const char **at, struct cgroup_devices *devices)
{
    uint64_t major, minor;
    if (!scan_u64(at, &major) || **at != ':')
        return false;
    ++*at;
    return scan_u64(at, &minor) && **at == ' ' && major <= UINT32_MAX && minor <= UINT32_MAX
           && !is_stacked(devices, (uint32_t)major, (uint32_t)minor);
}

/* The sums start at 0: a cgroup without I/O has an empty file. */
static void zero_sums(const struct cgroup_file *file, struct cgroup_values *values)
{
    for (const struct cgroup_key *key = file->keys; key < file->keys + 8 && key->name; key++)
        set(values, key, 0);
}

static void parse_io(const struct cgroup_file *file, const char *text, struct cgroup_devices *devices,
                     struct cgroup_values *values)
{
    zero_sums(file, values);
    for (const char *line = text; line; line = scan_next_line(line)) {
        const char *at = line;
        if (!parse_device(&at, devices))
            continue;
        while (*at == ' ') {
            size_t size = strcspn(++at, "= \n");
            const struct cgroup_key *key = at[size] == '=' ? find_key(file, at, size) : NULL;
            const char *number = at + size + 1;
            uint64_t value;
            if (key && scan_u64(&number, &value))
                add(values, key, value);
            at += strcspn(at, " \n");
        }
    }
}

static void parse_blkio(const struct cgroup_file *file, const char *text, struct cgroup_devices *devices,
                        struct cgroup_values *values)
{
    zero_sums(file, values);
    for (const char *line = text; line; line = scan_next_line(line)) {
        const char *at = line;
        uint64_t value;
        if (!parse_device(&at, devices))
            continue;
        size_t size = strcspn(++at, " \n");
        const struct cgroup_key *key = at[size] == ' ' ? find_key(file, at, size) : NULL;
        at += size;
        if (key && scan_u64(&at, &value))
            add(values, key, value);
    }
}

static void parse_pressure(const struct cgroup_file *file, const char *text, struct cgroup_values *values)
{
    for (const char *line = text; line; line = scan_next_line(line)) {
        const struct cgroup_key *key = find_key(file, line, strcspn(line, " \n"));
        const char *end = line + strcspn(line, "\n"), *total = strstr(line, "total=");
        uint64_t value;
        if (!key || !total || total >= end)
            continue;
        total += strlen("total=");
        if (scan_u64(&total, &value))
            set(values, key, value);
    }
}

void cgroup_file_parse(const struct cgroup_file *file, const char *text, struct cgroup_devices *devices,
                       struct cgroup_values *values)
{
    switch (file->format) {
    case FORMAT_NUMBER: parse_number(file, text, values); break;
    case FORMAT_KEYS: parse_keys(file, text, values); break;
    case FORMAT_IO: parse_io(file, text, devices, values); break;
    case FORMAT_BLKIO: parse_blkio(file, text, devices, values); break;
    case FORMAT_PRESSURE: parse_pressure(file, text, values); break;
    }
}
