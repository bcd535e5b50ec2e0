/* Reads segments with pread: new blocks once, pages of values at every reading. */
#include "appmetrics/segment_reader.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/scan.h"
#include "appmetrics/segment_metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN_PAGES 64u /* to read in one call */
#define PIECE_BYTES (512u << 10) /* more than the longest descriptor has */

struct chunk_page {
    uint32_t page, chunk;
};

struct segment_reader {
    int fd;
    struct segment_info info;
    uint64_t header_ticks, header_ns;
    uint64_t pages_seen;             /* blocks before this page have been read */
    uint64_t block, block_used;        /* the last block of descriptors: its offset, and how far it was read */
    VEC(struct chunk_page) chunks;
    struct segment_metrics metrics;
    uint64_t bytes_max;                /* of segment_reader_bytes */
    uint64_t *buffer;                  /* for the longest run so far: most segments have few pages, and there are many */
    size_t buffer_pages;
};

static bool read_at(const struct segment_reader *reader, void *data, size_t size, uint64_t at)
{
    return pread(reader->fd, data, size, (off_t)at) == (ssize_t)size;
}

static void copy_string(char *to, const char *from, size_t capacity)
{
    size_t size = strnlen(from, capacity - 1);
    memcpy(to, from, size);
    memset(to + size, 0, capacity - size);
}

static void copy_info(struct segment_info *info, const struct segment_header *header)
{
    info->pid = header->pid;
    info->parent_pid = header->parent_pid;
    info->pid_space = header->pid_space;
    info->start_ticks = header->start_ticks;
    info->exe_device = header->exe_device;
    info->exe_inode = header->exe_inode;
    info->realtime_ns = header->realtime_ns;
    info->lost = header->lost;
    bool has_rank = header->rank >= 0 && header->size > header->rank;
    info->rank = has_rank ? header->rank : -1;
    info->size = has_rank ? header->size : -1;
    info->program = header->program;
    info->world = header->world;
    info->ended_ns = header->ended_ns;
    info->is_ended = header->state == SEGMENT_ENDED;
    bool may_report = info->uid == 0 || info->uid == header->subject_uid;
    info->subject_pid = may_report && header->subject_pid > 0 ? header->subject_pid : 0;
    info->subject_uid = header->subject_uid;
    copy_string(info->library, header->library, sizeof info->library);
    copy_string(info->job, header->job, sizeof info->job);
    copy_string(info->command, header->command, sizeof info->command);
}

static enum err read_header(struct segment_reader *reader, struct segment_header *header)
{
    struct stat st;
    if (fstat(reader->fd, &st))
        return err_from_errno(errno);
    reader->info.uid = st.st_uid;
    reader->info.gid = st.st_gid;
    reader->info.device = st.st_dev;
    reader->info.inode = st.st_ino;
    reader->info.bytes = (uint64_t)st.st_blocks * 512;
    if (!S_ISREG(st.st_mode) || st.st_size > SEGMENT_BYTES_MAX)
        return CORRUPT;
    if (!read_at(reader, header, sizeof *header, 0))
        return st.st_size < SEGMENT_PAGE ? AGAIN : IO;
    static const char empty[sizeof header->magic];
    if (memcmp(header->magic, empty, sizeof empty) == 0)
        return AGAIN;
    if (memcmp(header->magic, SEGMENT_MAGIC, sizeof header->magic) != 0 || header->version != SEGMENT_VERSION)
        return CORRUPT;
    if (header->pages > (uint64_t)st.st_size / SEGMENT_PAGE)
        return CORRUPT;
    copy_info(&reader->info, header);
    reader->header_ticks = header->ticks;
    reader->header_ns = header->monotonic_ns;
    return OK;
}

/* What all readers of a user hold is limited: a file of a few real pages can have a length of 256 MiB. */
static bool has_left(const struct segment_reader *reader, uint64_t bytes)
{
    return segment_reader_bytes(reader) + bytes <= reader->bytes_max;
}

/* The size of the complete descriptors among these bytes. */
static size_t complete_bytes(const char *bytes, size_t size)
{
    uint32_t next;
    size_t at = 0;
    while (size - at >= sizeof next && (memcpy(&next, bytes + at, sizeof next), next && next <= size - at))
        at += next;
    return at;
}

/* One piece of the last block of descriptors, the only one that grows. */
static enum err read_piece(struct segment_reader *reader, uint64_t end)
{
    size_t size = end - reader->block_used < PIECE_BYTES ? (size_t)(end - reader->block_used) : PIECE_BYTES;
    if (!has_left(reader, size))
        return FULL;
    char *piece = malloc(size);
    if (!piece)
        return NOMEM;
    enum err err = read_at(reader, piece, size, reader->block + reader->block_used) ? OK : IO;
    size_t complete = err ? 0 : complete_bytes(piece, size);
    if (!err)
        err = complete ? segment_metrics_add(&reader->metrics, piece, complete) : CORRUPT;
    reader->block_used += complete;
    free(piece);
    return err;
}

static enum err read_descriptors(struct segment_reader *reader)
{
    struct segment_block block;
    enum err err = OK;
    if (!reader->block)
        return OK;
    if (!read_at(reader, &block, sizeof block, reader->block))
        return IO;
    if (block.used < reader->block_used || block.used > SEGMENT_BYTES_MAX - reader->block)
        return CORRUPT;
    while (!err && reader->block_used < block.used)
        err = read_piece(reader, block.used);
    if (err)
        reader->block_used = block.used; /* the rest is left out */
    return err;
}

static enum err add_chunk(struct segment_reader *reader, uint64_t page, const struct segment_block *block)
{
    if (block->chunk >= SEGMENT_CHUNKS_MAX || block->pages != 1)
        return CORRUPT;
    if (!has_left(reader, SEGMENT_PAGE))
        return FULL;
    return vec_push(&reader->chunks, VEC_MAX, (struct chunk_page){ (uint32_t)page, block->chunk });
}

static enum err read_block(struct segment_reader *reader, uint64_t page, const struct segment_block *block)
{
    if (block->kind == SEGMENT_BLOCK_CHUNK)
        return add_chunk(reader, page, block);
    if (block->kind != SEGMENT_BLOCK_DESCRIPTORS)
        return OK;
    enum err err = read_descriptors(reader); /* the rest of the one before */
    reader->block = page * SEGMENT_PAGE;
    reader->block_used = sizeof *block;
    return err;
}

static enum err read_blocks(struct segment_reader *reader, uint64_t pages)
{
    enum err err = OK;
    while (!err && reader->pages_seen < pages) {
        struct segment_block block;
        if (!read_at(reader, &block, sizeof block, reader->pages_seen * SEGMENT_PAGE))
            return IO;
        if (block.pages == 0 || block.pages > pages - reader->pages_seen)
            return CORRUPT;
        err = read_block(reader, reader->pages_seen, &block);
        reader->pages_seen += block.pages;
    }
    return err ? err : read_descriptors(reader);
}

/* The number of adjacent pages in the file. */
static size_t run_from(const struct segment_reader *reader, size_t first)
{
    size_t count = 1;
    while (count < RUN_PAGES && first + count < reader->chunks.count
           && reader->chunks.items[first + count].page == reader->chunks.items[first].page + count)
        count++;
    return count;
}

static bool grow_buffer(struct segment_reader *reader, size_t pages)
{
    if (pages <= reader->buffer_pages)
        return true;
    free(reader->buffer);
    reader->buffer = malloc(pages * SEGMENT_PAGE);
    reader->buffer_pages = reader->buffer ? pages : 0;
    return reader->buffer != NULL;
}

static enum err read_values(struct segment_reader *reader)
{
    segment_metrics_reset_values(&reader->metrics);
    for (size_t i = 0; i < reader->chunks.count;) {
        size_t count = run_from(reader, i);
        if (!grow_buffer(reader, count))
            return NOMEM;
        if (!read_at(reader, reader->buffer, count * SEGMENT_PAGE, (uint64_t)reader->chunks.items[i].page * SEGMENT_PAGE))
            return IO;
        for (size_t k = 0; k < count; k++)
            segment_metrics_sum(&reader->metrics, reader->chunks.items[i + k].chunk, reader->buffer + k * SEGMENT_CHUNK_SLOTS);
        i += count;
    }
    return OK;
}

/* From the pair of clocks in the header and one of now. A segment that is a few microseconds old has no ticks yet. */
static double seconds_per_tick(const struct segment_reader *reader)
{
    uint64_t now = segment_ticks(), now_ns = clock_monotonic_ns();
    double ticks = (double)(int64_t)(now - reader->header_ticks), ns = (double)(int64_t)(now_ns - reader->header_ns);
    double rate = ticks > 0 && ns > 0 ? ns / ticks / 1e9 : 0;
    return rate > 1e-11 && rate < 1e-5 ? rate : 0;
}

enum err segment_reader_read(struct segment_reader *reader)
{
    struct segment_header header = { 0 };
    enum err err = read_header(reader, &header);
    if (err)
        return err;
    err = read_blocks(reader, header.pages);
    reader->metrics.seconds_per_tick = seconds_per_tick(reader);
    enum err read = read_values(reader);
    return err ? err : read;
}

enum err segment_reader_open(struct segment_reader **reader, const char *path)
{
    *reader = NULL;
    struct segment_reader *new = calloc(1, sizeof *new);
    if (!new)
        return NOMEM;
    new->pages_seen = 1;
    new->bytes_max = UINT64_MAX;
    new->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    enum err err = new->fd < 0 ? err_from_errno(errno) : OK;
    struct segment_header header;
    if (!err)
        err = read_header(new, &header);
    if (err)
        segment_reader_close(&new);
    *reader = new;
    return err;
}

void segment_reader_close(struct segment_reader **reader)
{
    struct segment_reader *closing = *reader;
    *reader = NULL;
    if (!closing)
        return;
    if (closing->fd >= 0)
        close(closing->fd);
    segment_metrics_clear(&closing->metrics);
    vec_clear(&closing->chunks);
    free(closing->buffer);
    free(closing);
}

const struct segment_info *segment_reader_info(const struct segment_reader *reader)
{
    return &reader->info;
}

int segment_reader_fd(const struct segment_reader *reader)
{
    return reader->fd;
}

uint64_t segment_reader_bytes(const struct segment_reader *reader)
{
    return segment_metrics_bytes(&reader->metrics) + (uint64_t)reader->chunks.count * SEGMENT_PAGE;
}

void segment_reader_limit(struct segment_reader *reader, uint64_t bytes)
{
    reader->bytes_max = bytes;
}

size_t segment_reader_count(const struct segment_reader *reader)
{
    return reader->metrics.offsets.count;
}

void segment_reader_value(const struct segment_reader *reader, size_t index, struct segment_value *value)
{
    segment_metrics_value(&reader->metrics, index, value);
}

/* --- has the program ended? A pid alone is not enough: it may be reused, and exec starts another executable. --- */

/* A field of /proc/PID/stat; those after the name begin with the third one, the state. */
static const char *field_of(const char *after_name, int field)
{
    for (int at = 2; after_name && at < field; at++)
        after_name = strchr(after_name + 1, ' ');
    return after_name ? after_name + 1 : "";
}

/* GONE: there is no such process, or only a zombie. If its first thread has ended but others run, it is a zombie with
 * several threads. */
static enum err start_ticks(const struct segment_info *info, const char *root, uint64_t *ticks)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)info->pid);
    enum err err = file_read(root, path, text, sizeof text, NULL);
    if (err)
        return err == ABSENT ? GONE : err;
    uint64_t threads;
    const char *after = strrchr(text, ')'), *state = field_of(after, 3), *count = field_of(after, 20);
    const char *start = field_of(after, 22);
    if (!scan_u64(&count, &threads))
        return CORRUPT;
    if ((*state == 'Z' && threads <= 1) || *state == 'X')
        return GONE;
    return scan_u64(&start, ticks) ? OK : CORRUPT;
}

static bool has_other_executable(const struct segment_info *info, const char *root)
{
    char path[64], full[FILE_PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)info->pid);
    if (!info->exe_inode || file_path(full, root, path) || stat(full, &st))
        return false; /* not permitted */
    return st.st_dev != info->exe_device || st.st_ino != info->exe_inode;
}

static bool process_is_gone(const struct segment_info *info, const char *root)
{
    uint64_t ticks = 0;
    if (info->pid <= 0)
        return true;
    enum err err = start_ticks(info, root, &ticks);
    if (err)
        return err == GONE;
    return (info->start_ticks && ticks != info->start_ticks) || has_other_executable(info, root);
}

/* The kernel grants a read lease only if nobody has the file open for writing or mapped writable. A process that opens
 * it at that very moment makes the kernel send us a signal, which must be a harmless one. */
static bool is_unmapped(const struct segment_reader *reader)
{
    if (fcntl(reader->fd, F_SETSIG, SIGURG) || fcntl(reader->fd, F_SETLEASE, F_RDLCK))
        return false;
    fcntl(reader->fd, F_SETLEASE, F_UNLCK);
    return true;
}

/* For another root (of tests) the pid namespace is unknown. */
bool segment_reader_is_local(const struct segment_reader *reader, const char *root)
{
    struct stat st;
    if (root && *root)
        return true;
    return reader->info.pid_space && stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == reader->info.pid_space;
}

bool segment_reader_is_finished(const struct segment_reader *reader, const char *root)
{
    if (is_unmapped(reader))
        return true;
    return segment_reader_is_local(reader, root) && process_is_gone(&reader->info, root);
}
