/* Lustre client statistics, from the file "stats" of each mount: "read_bytes 9007 samples [bytes] 1 4194304
 * 31008331389" (count, unit, minimum, maximum, sum). In debugfs since Lustre 2.12, in /proc before. The directories are
 * scanned for new mounts twice a minute. */
#include "samplers/lustre.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/scan.h"
#include "proc/listing.h"
#include "samplers/all.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOUNTS_MAX 32
#define STATS_MAX (16 << 10)
#define SCAN_NS (30 * NS_PER_S)

static const char *const directories[] = {
    "/sys/kernel/debug/lustre/llite", "/sys/fs/lustre/llite", "/proc/fs/lustre/llite",
};

/* X(name in the file, metric, help): operations that are only counted */
#define OPERATIONS(X) \
    X("open", open, "files opened") \
    X("close", close, "files closed") \
    X("seek", seek, "seeks") \
    X("fsync", fsync, "fsync calls") \
    X("mmap", mmap, "files mapped") \
    X("page_fault", page_fault, "page faults on mapped files") \
    X("readdir", readdir, "directories read") \
    X("create", create, "files created") \
    X("mknod", mknod, "special files created") \
    X("link", link, "hard links created") \
    X("unlink", unlink, "files removed") \
    X("symlink", symlink, "symbolic links created") \
    X("mkdir", mkdir, "directories created") \
    X("rmdir", rmdir, "directories removed") \
    X("rename", rename, "files renamed") \
    X("getattr", getattr, "attributes read") \
    X("setattr", setattr, "attributes changed") \
    X("truncate", truncate, "files truncated") \
    X("statfs", statfs, "statfs calls") \
    X("getxattr", getxattr, "extended attributes read") \
    X("setxattr", setxattr, "extended attributes changed") \
    X("listxattr", listxattr, "extended attributes listed") \
    X("inode_permission", inode_permission, "permissions checked") \
    X("ioctl", ioctl, "ioctl calls") \
    X("flock", flock, "file locks") \
    X("dirty_pages_hits", dirty_pages_hits, "written pages that were already dirty in the cache") \
    X("dirty_pages_misses", dirty_pages_misses, "written pages that were not")

static const struct metric metrics[] = {
    { "read", "B", COUNTER, U64, "bytes read by programs", "read_bytes.sum" },
    { "reads", "1", COUNTER, U64, "reads by programs", "read_bytes" },
    { "read_least", "B", GAUGE, U64, "the smallest so far", "read_bytes.min" },
    { "read_most", "B", GAUGE, U64, "the largest so far", "read_bytes.max" },
    { "write", "B", COUNTER, U64, "bytes written by programs", "write_bytes.sum" },
    { "writes", "1", COUNTER, U64, "writes by programs", "write_bytes" },
    { "write_least", "B", GAUGE, U64, "the smallest so far", "write_bytes.min" },
    { "write_most", "B", GAUGE, U64, "the largest so far", "write_bytes.max" },
    { "read_time", "us", COUNTER, U64, "time that programs spent in reads", "read.sum" },
    { "write_time", "us", COUNTER, U64, "time that programs spent in writes", "write.sum" },
#define X(file_name, name, help) { #name, "1", COUNTER, U64, help, file_name },
    OPERATIONS(X)
#undef X
};

enum { READ, READS, READ_LEAST, READ_MOST, WRITE, WRITES, WRITE_LEAST, WRITE_MOST, READ_TIME, WRITE_TIME, FIRST_OPERATION };
#define METRICS (sizeof metrics / sizeof *metrics)

const struct set lustre_set = { "lustre", metrics, METRICS, "filesystem" };

/* One parsed line. */
struct lustre_line {
    uint64_t count, least, most, sum;
    bool has_values;
    bool is_time; /* unit [usecs] or [usec] */
};

static bool parse_line(const char *at, struct lustre_line *line)
{
    *line = (struct lustre_line){ 0 };
    if (!scan_u64(&at, &line->count) || strncmp(at, " samples [", strlen(" samples [")) != 0)
        return false;
    const char *unit = at + strlen(" samples ["), *end = strpbrk(unit, "]\n");
    if (!end || *end != ']')
        return false;
    line->is_time = !strncmp(unit, "usec", strlen("usec"));
    at = end + 1;
    line->has_values = scan_u64(&at, &line->least) && scan_u64(&at, &line->most) && scan_u64(&at, &line->sum)
                       && (*at == ' ' || *at == '\n'); /* a truncated number would be wrong */
    return true;
}

static void set_bytes(struct sample *sample, size_t first, const struct lustre_line *line)
{
    sample_set_u64(sample, first + READS, line->count);
    if (!line->has_values)
        return;
    sample_set_u64(sample, first + READ_LEAST, line->least);
    sample_set_u64(sample, first + READ_MOST, line->most);
    sample_set_u64(sample, first + READ, line->sum);
}

static bool is_named(const char *line, size_t size, const char *name)
{
    return strlen(name) == size && !memcmp(line, name, size);
}

/* Operations come roughly in our order: the search continues after the last hit and wraps around. */
static void set_operation(struct sample *sample, const char *name, size_t size, uint64_t count, size_t *next)
{
    for (size_t n = 0; n < METRICS - FIRST_OPERATION; n++) {
        size_t i = FIRST_OPERATION + (*next + n) % (METRICS - FIRST_OPERATION);
        if (!is_named(name, size, metrics[i].source))
            continue;
        sample_set_u64(sample, i, count);
        *next = i - FIRST_OPERATION + 1;
        return;
    }
}

static void set_line(struct sample *sample, const char *name, size_t *next)
{
    size_t size = strcspn(name, " \n");
    struct lustre_line line;
    if (!parse_line(name + size, &line))
        return;
    if (is_named(name, size, "read_bytes"))
        set_bytes(sample, READ, &line);
    else if (is_named(name, size, "write_bytes"))
        set_bytes(sample, WRITE, &line);
    else if (is_named(name, size, "read") && line.is_time && line.has_values)
        sample_set_u64(sample, READ_TIME, line.sum);
    else if (is_named(name, size, "write") && line.is_time && line.has_values)
        sample_set_u64(sample, WRITE_TIME, line.sum);
    else
        set_operation(sample, name, size, line.count, next);
}

void lustre_parse(const char *text, struct sample *sample)
{
    size_t next = 0;
    for (const char *line = text; line; line = scan_next_line(line))
        set_line(sample, line, &next);
}

void lustre_file_system(const char *directory, char name[LUSTRE_NAME_MAX])
{
    const char *dash = strrchr(directory, '-');
    size_t size = strlen(directory);
    if (dash && dash > directory && strlen(dash + 1) >= 8 && !dash[1 + strspn(dash + 1, "0123456789abcdef")])
        size = (size_t)(dash - directory);
    snprintf(name, LUSTRE_NAME_MAX, "%.*s", (int)size, directory);
}

struct lustre_mount {
    int fd;
    bool is_seen;
    size_t source;                  /* index in directories */
    char directory[LISTING_NAME_MAX];
    char instance[LUSTRE_NAME_MAX]; /* the file system; the full directory name for its second mount */
};

struct lustre {
    const char *prefix; /* setting; NULL: all mounts */
    const char *root;
    uint64_t scan_at_ns; /* CLOCK_MONOTONIC */
    struct listing listing;
    struct lustre_mount mounts[MOUNTS_MAX];
    size_t count;
};

static const struct setting settings[] = {
    { "prefix", SETTING_TEXT, NULL, offsetof(struct lustre, prefix),
      "only mounts whose directory in llite begins with this and a '-'; default: all" },
    { .key = NULL },
};

/* "scratch" matches "scratch-ffff9d1c8a5b7000". */
static bool is_wanted(const struct lustre *lustre, const char *directory)
{
    size_t size = lustre->prefix ? strlen(lustre->prefix) : 0;
    return !lustre->prefix || (!strncmp(directory, lustre->prefix, size) && directory[size] == '-');
}

static struct lustre_mount *find_mount(struct lustre *lustre, size_t source, const char *directory)
{
    for (size_t i = 0; i < lustre->count; i++)
        if (lustre->mounts[i].source == source && !strcmp(lustre->mounts[i].directory, directory))
            return &lustre->mounts[i];
    return NULL;
}

static bool has_instance(const struct lustre *lustre, const char *instance)
{
    for (size_t i = 0; i < lustre->count; i++)
        if (!strcmp(lustre->mounts[i].instance, instance))
            return true;
    return false;
}

static void note_mount(struct lustre *lustre, size_t source, const char *directory)
{
    char path[256], name[LUSTRE_NAME_MAX];
    int fd;
    struct lustre_mount *mount = find_mount(lustre, source, directory);
    if (mount)
        mount->is_seen = true;
    snprintf(path, sizeof path, "%s/%s/stats", directories[source], directory);
    if (mount || lustre->count == MOUNTS_MAX || file_open(lustre->root, path, &fd))
        return;
    lustre_file_system(directory, name);
    if (has_instance(lustre, name))
        snprintf(name, sizeof name, "%s", directory);
    mount = &lustre->mounts[lustre->count++];
    *mount = (struct lustre_mount){ .fd = fd, .is_seen = true, .source = source };
    snprintf(mount->directory, sizeof mount->directory, "%s", directory);
    snprintf(mount->instance, sizeof mount->instance, "%s", name);
}

static void drop_mount(struct lustre *lustre, size_t i)
{
    close(lustre->mounts[i].fd);
    lustre->count--;
    memmove(&lustre->mounts[i], &lustre->mounts[i + 1], (lustre->count - i) * sizeof *lustre->mounts);
}

/* OK: at least one of the directories exists, even if empty. */
static enum err scan_directories(struct lustre *lustre)
{
    enum err best = ABSENT;
    lustre->scan_at_ns = clock_monotonic_ns() + SCAN_NS;
    for (size_t i = 0; i < lustre->count; i++)
        lustre->mounts[i].is_seen = false;
    for (size_t source = 0; source < sizeof directories / sizeof *directories; source++) {
        enum err err = listing_read(&lustre->listing, lustre->root, directories[source], "");
        if (err == OK || (err == DENIED && best == ABSENT))
            best = err;
        for (size_t i = 0; !err && i < lustre->listing.count; i++)
            if (is_wanted(lustre, lustre->listing.names[i]))
                note_mount(lustre, source, lustre->listing.names[i]);
    }
    for (size_t i = lustre->count; i-- > 0;)
        if (!lustre->mounts[i].is_seen)
            drop_mount(lustre, i);
    return best;
}

static void lustre_close(void *state)
{
    struct lustre *lustre = state;
    while (lustre->count)
        drop_mount(lustre, lustre->count - 1);
    listing_clear(&lustre->listing);
}

static enum err lustre_open(void *state, const struct sampler_context *context)
{
    struct lustre *lustre = state;
    lustre->root = context->root;
    enum err err = scan_directories(lustre);
    if (err)
        lustre_close(lustre);
    return err;
}

/* An unmounted file system is looked for again at the next reading: it may have been remounted. */
static enum err read_mount(struct lustre *lustre, const struct lustre_mount *mount, struct batch *out)
{
    char text[STATS_MAX];
    if (file_read_fd(mount->fd, text, sizeof text, NULL)) {
        lustre->scan_at_ns = 0;
        return OK;
    }
    struct sample *sample = batch_add(out, &lustre_set, clock_realtime_ns(), mount->instance);
    if (!sample)
        return NOMEM;
    lustre_parse(text, sample);
    return OK;
}

static enum err lustre_read(void *state, struct batch *out)
{
    struct lustre *lustre = state;
    enum err err = OK;
    if (clock_monotonic_ns() >= lustre->scan_at_ns)
        scan_directories(lustre);
    for (size_t i = 0; !err && i < lustre->count; i++)
        err = read_mount(lustre, &lustre->mounts[i], out);
    return err ? err : lustre->count ? OK : AGAIN;
}

const struct sampler sampler_lustre = {
    .name = "lustre",
    .about = "Lustre file systems as used by this node",
    .set = &lustre_set,
    .settings = settings,
    .state_size = sizeof(struct lustre),
    .absent_reason = "No Lustre client is loaded: no directory llite in debugfs, /sys/fs/lustre or /proc/fs/lustre",
    .absent_fix = "If Lustre is mounted, mount debugfs: mount -t debugfs none /sys/kernel/debug",
    .denied_fix = "Run the agent as root: Lustre's statistics are in debugfs, which only root can read",
    .open = lustre_open,
    .read = lustre_read,
    .close = lustre_close,
};
