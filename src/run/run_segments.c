/* Reads program metrics of the run into a small registry of its own, since all of them belong to one job. */
#include "run/run_segments.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "appmetrics/segment_format.h"
#include "appmetrics/segment_leftovers.h"
#include "appmetrics/segments.h"
#include "appmetrics/program_samples.h"
#include "run/record_batches.h"
#include "run/sample_writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECOVERED_SETS 1000u /* first set number for recovered samples, above those that the run itself uses */

static enum err open_registry(struct run_segments *segments)
{
    struct registry_settings settings = { .host = "", .is_one_job = true };
    enum err err = registry_open(&segments->registry, &settings);
    if (err)
        return err;
    struct segments_settings dir_settings = { .dir = segments->dir, .root = "", .registry = segments->registry, .is_run = true };
    return segments_open(&segments->segments, &dir_settings);
}

static void close_registry(struct run_segments *segments)
{
    segments_close(&segments->segments);
    registry_close(&segments->registry);
}

/* Here, and not in the programs: scanning the directory costs more than everything else a program does for its
 * segment. */
static void remove_leftovers(void)
{
    struct segment_leftovers leftovers;
    segment_leftovers_find(SEGMENT_DIR, SEGMENT_LEFTOVERS_OLD_S, true, &leftovers);
    if (leftovers.removed)
        log_info("removed %zu abandoned metrics segments of your programs from " SEGMENT_DIR,
                 leftovers.removed);
}

enum err run_segments_open(struct run_segments *segments, const char *spool)
{
    remove_leftovers();
    *segments = (struct run_segments){ .lock_fd = -1 };
    enum err err = segment_dir_create(SEGMENT_DIR, segments->dir, &segments->lock_fd);
    if (err) {
        segments->dir[0] = '\0';
        return err;
    }
    size_t size = strlen(spool);
    if (write(segments->lock_fd, spool, size) != (ssize_t)size)
        log_info("cannot store the path of the spool in %s: after kill -9 program metrics are not saved", segments->dir);
    err = open_registry(segments);
    if (err)
        run_segments_close(segments);
    return err;
}

const char *run_segments_dir(const struct run_segments *segments)
{
    return segments->dir[0] ? segments->dir : NULL;
}

static void read_at(struct run_segments *segments, struct batch *out, uint64_t time_ns)
{
    segments_forget_finished(segments->segments);
    segments_tick(segments->segments);
    segments->registry->scopes.node.job.counts_syscalls = segments->calls_are_counted;
    segments_sample(segments->segments, out, time_ns);
    program_samples_add(segments->registry, out, time_ns);
}

void run_segments_read(struct run_segments *segments, struct batch *out)
{
    if (segments->segments)
        read_at(segments, out, clock_realtime_ns());
}

/* Values that are not valid for a counter are rejected too; then no name is stored. */
static void log_rejected(const struct registry *registry)
{
    struct buf reason;
    if (!registry || !registry->stats.refused)
        return;
    buf_init(&reason, 1024);
    if (*registry->conflict.name)
        registry_conflict_write(&reason, &registry->conflict);
    else
        buf_add_text(&reason, "the value of a counter must be a number");
    log_warn("%" PRIu64 " metrics or values of its programs were rejected and are not in the report: %s",
             registry->stats.refused,
             buf_text(&reason));
    buf_clear(&reason);
}

static void log_left_out(const struct run_segments *segments)
{
    uint64_t left_out = segments->registry ? segments->registry->stats.left_out : 0;
    if (left_out)
        log_warn("%" PRIu64 " metrics of its programs are not in the report: the limits are %u bytes for a name with its "
                 "labels, and %u metrics per run", left_out, METRIC_NAME_MAX, REGISTRY_METRICS_MAX);
    uint64_t unpublished = segments->registry ? segments->registry->stats.unpublished : 0;
    if (unpublished)
        log_warn("%" PRIu64 " metrics of its programs, or parts of them, are not in the report for lack of space: " SEGMENT_DIR
                 " is full (check df), or the limits of the program are too low (ulimit -f, ulimit -v)", unpublished);
}

void run_segments_close(struct run_segments *segments)
{
    if (!segments->dir[0])
        return;
    log_left_out(segments);
    log_rejected(segments->registry);
    close_registry(segments);
    segment_dir_release(segments->dir);
    if (segments->lock_fd >= 0)
        close(segments->lock_fd);
    *segments = (struct run_segments){ .lock_fd = -1 };
}

/* Recovery after kill -9. */

static void write_into(struct run_segments *segments, int spool_fd, uint64_t time_ns)
{
    struct spool_writer writer;
    struct sample_writer out;
    struct batch batch;
    spool_writer_init_take(&writer, spool_fd);
    sample_writer_init(&out, &writer);
    out.first = RECOVERED_SETS;
    batch_init(&batch);
    read_at(segments, &batch, time_ns);
    sample_writer_add(&out, &batch);
    record_batches_read(segments->dir, &writer);
    batch_clear(&batch);
    sample_writer_clear(&out);
    spool_writer_close(&writer);
}

/* Samples get the time of the last write to the spool. */
static void recover(const char *dir, const char *spool)
{
    struct run_segments segments = { .lock_fd = -1 };
    struct stat st;
    int fd = open(spool, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    snprintf(segments.dir, sizeof segments.dir, "%s", dir);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && open_registry(&segments) == OK)
        write_into(&segments, fd, (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec);
    else
        close(fd);
    close_registry(&segments);
}

static void recover_dir(const char *name)
{
    char path[SEGMENT_DIR_PATH_MAX], note[SEGMENT_DIR_PATH_MAX + 8], spool[FILE_PATH_MAX];
    struct segment_dir *dir;
    if ((size_t)snprintf(path, sizeof path, SEGMENT_DIR "/%s", name) >= sizeof path
        || segment_dir_open(&dir, path, name, -1))
        return;
    if (segment_dir_is_abandoned(dir)) {
        snprintf(note, sizeof note, "%s/" SEGMENT_DIR_LOCK, path);
        if (file_read(NULL, note, spool, sizeof spool, NULL) == OK && spool[0] == '/')
            recover(path, spool);
        segment_dir_release(path);
    }
    segment_dir_close(&dir, -1);
}

void run_segments_recover(void)
{
    char mine[64];
    DIR *dir = opendir(SEGMENT_DIR);
    if (!dir)
        return;
    snprintf(mine, sizeof mine, SEGMENT_RUN_PREFIX "%u.", (unsigned)geteuid());
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strncmp(entry->d_name, mine, strlen(mine)) == 0)
            recover_dir(entry->d_name);
    closedir(dir);
    remove_leftovers();
}
