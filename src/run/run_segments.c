/* Its own small table of programs: all that is counted is of the one job. */
#include "run/run_segments.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "appmetrics/segment_format.h"
#include "appmetrics/segment_leftovers.h"
#include "appmetrics/segments.h"
#include "appmetrics/samples.h"
#include "run/record_batches.h"
#include "run/sample_writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESCUE_SETS 1000u /* numbers of sets in the spool that the run itself has not given to any */

static enum err open_table(struct run_boards *boards)
{
    struct program_table_settings settings = { .host = "", .is_job = true };
    enum err err = program_table_open(&boards->table, &settings);
    if (err)
        return err;
    struct program_boards_settings folder = { .folder = boards->folder, .root = "", .table = boards->table, .is_run = true };
    return program_boards_open(&boards->boards, &folder);
}

static void close_table(struct run_boards *boards)
{
    program_boards_close(&boards->boards);
    program_table_close(&boards->table);
}

/* Here, and not where programs make boards: to look through the folder costs more than all else that a program does for one. */
static void remove_leftovers(void)
{
    struct board_leftovers leftovers;
    board_leftovers_look(BOARD_FOLDER, BOARD_LEFTOVERS_OLD_S, true, &leftovers);
    if (leftovers.removed)
        log_info("%zu boards that programs of yours left in " BOARD_FOLDER ", and nobody will read, were removed",
                 leftovers.removed);
}

enum err run_boards_open(struct run_boards *boards, const char *spool)
{
    remove_leftovers();
    *boards = (struct run_boards){ .lock_fd = -1 };
    enum err err = board_folder_make(BOARD_FOLDER, boards->folder, &boards->lock_fd);
    if (err) {
        boards->folder[0] = '\0';
        return err;
    }
    size_t size = strlen(spool);
    if (write(boards->lock_fd, spool, size) != (ssize_t)size)
        log_info("the spool's name could not be noted in %s: after kill -9 boards are not filed", boards->folder);
    err = open_table(boards);
    if (err)
        run_boards_close(boards);
    return err;
}

const char *run_boards_folder(const struct run_boards *boards)
{
    return boards->folder[0] ? boards->folder : NULL;
}

static void read_at(struct run_boards *boards, struct batch *out, uint64_t time_ns)
{
    program_boards_forget(boards->boards);
    program_boards_tick(boards->boards);
    boards->table->node.by_kernel = boards->calls_are_counted;
    program_boards_sample(boards->boards, out, time_ns);
    program_samples_add(boards->table, out, time_ns);
}

void run_boards_read(struct run_boards *boards, struct batch *out)
{
    if (boards->boards)
        read_at(boards, out, clock_realtime_ns());
}

/* Also values that no counter can take are refused; a name is then told of none. */
static void tell_refused(const struct program_table *table)
{
    struct buf why;
    if (!table || !table->figures.refused)
        return;
    buf_init(&why, 1024);
    if (*table->refusal.name)
        program_refusal_write(&why, &table->refusal);
    else
        buf_add_text(&why, "a counter takes no value that is no number");
    log_warn("%" PRIu64 " metrics or values of its programs were refused and are not in the report: %s", table->figures.refused,
             buf_text(&why));
    buf_clear(&why);
}

static void tell_left_out(const struct run_boards *boards)
{
    uint64_t left_out = boards->table ? boards->table->figures.left_out : 0;
    if (left_out)
        log_warn("%" PRIu64 " metrics of its programs are not in the report: a name with its labels may have %u bytes, "
                 "and a run %u metrics", left_out, PROGRAM_NAME_MAX, PROGRAM_METRICS_MAX);
    uint64_t no_room = boards->table ? boards->table->figures.no_room : 0;
    if (no_room)
        log_warn("%" PRIu64 " metrics of its programs, or threads' parts of them, found no room and are not in the report: "
                 BOARD_FOLDER " is full (df), or the limits of the program are narrow (ulimit -f, ulimit -v)", no_room);
}

void run_boards_close(struct run_boards *boards)
{
    if (!boards->folder[0])
        return;
    tell_left_out(boards);
    tell_refused(boards->table);
    close_table(boards);
    board_folder_leave(boards->folder);
    if (boards->lock_fd >= 0)
        close(boards->lock_fd);
    *boards = (struct run_boards){ .lock_fd = -1 };
}

/* --- after kill -9 --- */

static void write_into(struct run_boards *boards, int spool_fd, uint64_t time_ns)
{
    struct writer writer;
    struct sample_writer out;
    struct batch batch;
    writer_init_take(&writer, spool_fd);
    sample_writer_init(&out, &writer);
    out.first = RESCUE_SETS;
    batch_init(&batch);
    read_at(boards, &batch, time_ns);
    sample_writer_add(&out, &batch);
    held_pages_take(boards->folder, &writer);
    batch_clear(&batch);
    sample_writer_clear(&out);
    writer_close(&writer);
}

/* Samples are as old as the last word of the run. */
static void rescue(const char *folder, const char *spool)
{
    struct run_boards boards = { .lock_fd = -1 };
    struct stat st;
    int fd = open(spool, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    snprintf(boards.folder, sizeof boards.folder, "%s", folder);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && open_table(&boards) == OK)
        write_into(&boards, fd, (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec);
    else
        close(fd);
    close_table(&boards);
}

static void rescue_folder(const char *name)
{
    char path[BOARD_FOLDER_PATH_MAX], note[BOARD_FOLDER_PATH_MAX + 8], spool[FILE_PATH_MAX];
    struct board_folder *folder;
    if ((size_t)snprintf(path, sizeof path, BOARD_FOLDER "/%s", name) >= sizeof path
        || board_folder_open(&folder, path, name, -1))
        return;
    if (board_folder_is_left(folder)) {
        snprintf(note, sizeof note, "%s/" BOARD_FOLDER_LOCK, path);
        if (file_read(NULL, note, spool, sizeof spool, NULL) == OK && spool[0] == '/')
            rescue(path, spool);
        board_folder_leave(path);
    }
    board_folder_close(&folder, -1);
}

void run_boards_rescue(void)
{
    char mine[64];
    DIR *dir = opendir(BOARD_FOLDER);
    if (!dir)
        return;
    snprintf(mine, sizeof mine, BOARD_RUN_PREFIX "%u.", (unsigned)geteuid());
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strncmp(entry->d_name, mine, strlen(mine)) == 0)
            rescue_folder(entry->d_name);
    closedir(dir);
}
