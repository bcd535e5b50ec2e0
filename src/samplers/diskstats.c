/* Block devices, from /proc/diskstats: "8 0 sda", then 11, 15 or 17 numbers depending on the kernel. One sample per
 * device. Partitions, RAM disks and loop devices are read only on request, because their I/O is also counted by the
 * device below. For other stacked devices (LVM, RAID, multipath) the sample says so, for whoever adds them up. */
#include "samplers/all.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/scan.h"
#include "proc/textfile.h"
#include "samplers/counter.h"
#include "samplers/instances.h"
#include "samplers/stacked_device.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* In the kernel's order. Times are in ms and 32 bits wide; they wrap after 49 days. */
static const struct metric metrics[] = {
    { "reads", "1", COUNTER, U64, "completed reads", "reads_comp" },
    { "reads_merged", "1", COUNTER, U64, "reads merged with another", "reads_merg" },
    { "read", "B", COUNTER, U64, "bytes read", "sect_read" },
    { "read_time", "us", COUNTER, U64, "time spent on reads, summed over all of them", "time_read" },
    { "writes", "1", COUNTER, U64, "completed writes", "writes_comp" },
    { "writes_merged", "1", COUNTER, U64, "writes merged with another", "writes_merg" },
    { "written", "B", COUNTER, U64, "bytes written", "sect_written" },
    { "write_time", "us", COUNTER, U64, "time spent on writes, summed over all of them", "time_write" },
    { "in_flight", "1", GAUGE, U64, "reads and writes in flight", "ios_in_progress" },
    { "busy_time", "us", COUNTER, U64, "time with at least one request in flight", "time_ios" },
    { "queue_time", "us", COUNTER, U64, "time spent on all requests, summed over all of them", "weighted_time" },
    { "discards", "1", COUNTER, U64, "completed discards" },
    { "discards_merged", "1", COUNTER, U64, "discards merged with another" },
    { "discarded", "B", COUNTER, U64, "bytes discarded" },
    { "discard_time", "us", COUNTER, U64, "time spent on discards" },
    { "flushes", "1", COUNTER, U64, "flushes of the device's cache" },
    { "flush_time", "us", COUNTER, U64, "time spent on flushes" },
    { "stacked", "1", GAUGE, U64, "1: stacked on other devices, which count the same I/O; 0: not stacked" },
};

enum { COLUMNS = 17, STACKED = COLUMNS, METRICS };
_Static_assert(sizeof metrics / sizeof *metrics == METRICS, "a name for each metric");

/* One letter per column of the file: c count, s sectors, t time in ms, l level (gauge). */
static const char columns[COLUMNS + 1] = "ccstccstlttccstct";
#define COLUMNS_MIN 11u   /* partitions had four other columns before Linux 2.6.25 */
#define SECTOR_BYTES 512u /* always, whatever the device's sector size is */
#define DEVICES_MAX 4096

static const struct set set = { "diskstats", metrics, METRICS, "device" };

enum layer { LAYER_UNKNOWN, LAYER_LOWEST, LAYER_STACKED };

struct diskstats {
    bool all, partitions;
    bool has_blocks; /* /sys/block exists, which tells devices from partitions */
    const char *root;
    struct textfile file;
    struct instances devices; /* per column the last value, then the last 64-bit extended one; then enum layer */
};

static const struct setting settings[] = {
    { "all", SETTING_FLAG, "no", offsetof(struct diskstats, all), "also RAM disks and loop devices" },
    { "partitions", SETTING_FLAG, "no", offsetof(struct diskstats, partitions), "also partitions" },
    { .key = NULL },
};

static bool exists(const char *root, const char *path)
{
    char whole[FILE_PATH_MAX];
    return !file_path(whole, root, path) && !access(whole, F_OK);
}

static enum err diskstats_open(void *state, const struct sampler_context *context)
{
    struct diskstats *diskstats = state;
    diskstats->root = context->root;
    diskstats->has_blocks = exists(context->root, "/sys/block");
    instances_init(&diskstats->devices, 2 * COLUMNS + 1, DEVICES_MAX);
    return textfile_open(&diskstats->file, context->root, "/proc/diskstats", TEXTFILE_PAGES);
}

static bool is_numbered(const char *name, const char *kind)
{
    size_t size = strlen(kind);
    return !strncmp(name, kind, size) && name[size] >= '0' && name[size] <= '9';
}

#define DIRECTORY_PATH_MAX (INSTANCE_NAME_MAX + 16)

/* A slash in the name ("cciss/c0d0") is '!' in /sys/block. */
static const char *directory_of(const char *name, char path[DIRECTORY_PATH_MAX])
{
    snprintf(path, DIRECTORY_PATH_MAX, "/sys/block/%s", name);
    for (char *at = path + strlen("/sys/block/"); *at; at++)
        *at = (char)(*at == '/' ? '!' : *at);
    return path;
}

static bool is_device(const char *root, const char *name)
{
    char path[DIRECTORY_PATH_MAX];
    return exists(root, directory_of(name, path));
}

/* Some are recognised by name, because nothing is below them yet while they are set up. */
static enum layer layer_of(const struct diskstats *diskstats, const char *name)
{
    char path[DIRECTORY_PATH_MAX];
    if (is_numbered(name, "dm-") || is_numbered(name, "md") || is_numbered(name, "loop"))
        return LAYER_STACKED;
    if (!diskstats->has_blocks)
        return LAYER_UNKNOWN;
    if (!is_device(diskstats->root, name)) /* a partition */
        return LAYER_STACKED;
    return stacked_device_check(diskstats->root, directory_of(name, path)) ? LAYER_STACKED : LAYER_LOWEST;
}

static bool is_wanted(const struct diskstats *diskstats, const char *name)
{
    if (!diskstats->all && (is_numbered(name, "ram") || is_numbered(name, "loop")))
        return false;
    return diskstats->partitions || !diskstats->has_blocks || is_device(diskstats->root, name);
}

static void classify_device(const struct diskstats *diskstats, struct instance *device)
{
    device->is_new = false;
    device->is_wanted = is_wanted(diskstats, device->name);
    device->last[2 * COLUMNS] = device->is_wanted ? layer_of(diskstats, device->name) : LAYER_UNKNOWN;
}

static void set_value(struct sample *sample, size_t i, uint64_t value, uint64_t *last, uint64_t *wide)
{
    if (columns[i] == 'l') {
        sample_set_u64(sample, i, value);
        return;
    }
    if (columns[i] == 't')
        value = counter_unwrap32(wide, value);
    uint64_t scale = columns[i] == 't' ? 1000 : columns[i] == 's' ? SECTOR_BYTES : 1;
    if (!__builtin_mul_overflow(value, scale, &value))
        counter_set(sample, i, value, last);
}

/* The device name after the major and minor number; size 0: not a device line. */
static struct bytes name_of(const char *line)
{
    struct bytes name = { line, 0 };
    uint64_t ignored;
    for (int i = 0; i < 2; i++)
        if (!scan_u64(&name.data, &ignored))
            return name;
    name.data += strspn(name.data, " ");
    name.size = strcspn(name.data, " \n");
    return name;
}

static enum err add_device(struct diskstats *diskstats, const char *line, uint64_t time_ns, struct batch *out)
{
    struct bytes name = name_of(line);
    struct instance *device = instances_find(&diskstats->devices, name);
    const char *at = name.data + name.size;
    uint64_t values[COLUMNS];
    size_t count = 0;
    if (!device)
        return OK;
    if (device->is_new)
        classify_device(diskstats, device);
    while (device->is_wanted && count < COLUMNS && scan_u64(&at, &values[count]))
        count++;
    if (count < COLUMNS_MIN)
        return OK;
    struct sample *sample = batch_add(out, &set, time_ns, device->name);
    if (!sample)
        return NOMEM;
    for (size_t i = 0; i < count; i++)
        set_value(sample, i, values[i], &device->last[i], &device->last[COLUMNS + i]);
    if (device->last[2 * COLUMNS] != LAYER_UNKNOWN)
        sample_set_u64(sample, STACKED, device->last[2 * COLUMNS] == LAYER_STACKED);
    return OK;
}

static enum err diskstats_read(void *state, struct batch *out)
{
    struct diskstats *diskstats = state;
    enum err err = textfile_read(&diskstats->file);
    uint64_t time_ns = clock_realtime_ns();
    instances_begin(&diskstats->devices);
    for (const char *line = diskstats->file.text; line && *line && !err; line = scan_next_line(line))
        err = add_device(diskstats, line, time_ns, out);
    return err;
}

static void diskstats_close(void *state)
{
    struct diskstats *diskstats = state;
    textfile_close(&diskstats->file);
    instances_clear(&diskstats->devices);
}

const struct sampler sampler_diskstats = {
    .name = "diskstats",
    .about = "block devices: reads, writes, time",
    .settings = settings,
    .set = &set,
    .state_size = sizeof(struct diskstats),
    .open = diskstats_open,
    .read = diskstats_read,
    .close = diskstats_close,
};
