/* The sink `hdf5`: tables as in the files of Colmet's collector (/job_42/taskstats_default), in one file for all
 * hosts. A module of its own because of libhdf5. Rows come from compat/colmet/rows.c and go to sinks/hdf5/file.c. */
#include "base/clock.h"
#include "compat/colmet/mapping.h"
#include "sinks/hdf5/file.h"
#include "sinks/hdf5/names.h"
#include "sinks/sink_module.h"
#include "sinks/writable.h"

#include <stdio.h>
#include <string.h>

#define EVERY_PLAIN_NS NS_PER_S
#define EVERY_COMPRESSED_NS (10 * NS_PER_S) /* rewriting a compressed chunk wastes space, so less often */
#define INVOLVED_MIN 16

struct hdf5_state {
    const char *path, *mapping;                     /* settings */
    uint64_t level, every_ns, memory, involved_size; /* settings */
    struct hdf5_file file;
    struct colmet_rows *rows;
    struct colmet_mapping labels, files; /* labels written to the table; to CSV files */
    uint64_t committed_ns; /* CLOCK_MONOTONIC */
    char message[512];
};

static const struct setting hdf5_settings[] = {
    { "path", SETTING_TEXT, NULL, offsetof(struct hdf5_state, path),
      "output file, required; unless it ends in .hdf5, each start creates a new file PATH.TIME.hdf5" },
    { "level", SETTING_U64, "1", offsetof(struct hdf5_state, level), "zlib compression level: 0 (none) to 9" },
    { "every", SETTING_DURATION, NULL, offsetof(struct hdf5_state, every_ns),
      "interval of writes to the file; default: 1s, or 10s with compression" },
    { "memory", SETTING_U64, "67108864", offsetof(struct hdf5_state, memory), "maximum number of bytes buffered in between" },
    { "involved", SETTING_U64, "8192", offsetof(struct hdf5_state, involved_size),
      "size in bytes of the list of jobs in each row of a node" },
    { "mapping", SETTING_TEXT, NULL, offsetof(struct hdf5_state, mapping),
      "directory for Colmet's CSV files that describe the numbered counters, with a subdirectory per host; default: none" },
    { 0 },
};

static void set_message(struct hdf5_state *s, const char *path)
{
    snprintf(s->message, sizeof s->message, "%.200s: %s", path, s->file.message);
}

static enum err open_file(struct hdf5_state *s, const char *path, uint64_t position)
{
    const struct hdf5_file_settings settings = {
        .path = path, .level = (unsigned)s->level, .involved_size = (size_t)s->involved_size, .position = position,
    };
    enum err err = hdf5_file_open(&s->file, &settings);
    if (err)
        set_message(s, path);
    return err;
}

/* Creates the next file PATH.TIME.hdf5, with the position of the newest existing one, or continues that one if it
 * has no rows. */
static enum err open_next(struct hdf5_state *s)
{
    char name[PATH_MAX];
    uint64_t newest_s = 0, now_s = clock_realtime_ns() / NS_PER_S, position = 0;
    enum err err = hdf5_names_newest(s->path, &newest_s);
    if (!err)
        err = hdf5_names_make(s->path, newest_s, name);
    if (!err)
        err = open_file(s, name, 0);
    if (!err && (!s->file.tables.count || newest_s >= now_s))
        return OK;
    if (!err) {
        position = s->file.record.position;
        hdf5_file_close(&s->file);
    }
    if (err && err != ABSENT && err != CORRUPT) /* leave a file of Colmet's own alone */
        return err;
    err = hdf5_names_make(s->path, now_s > newest_s ? now_s : newest_s + 1, name);
    return err ? err : open_file(s, name, position);
}

/* A file of Colmet's own stays as it is: its version of HDF5's format cannot be read while it is written. Continues the
 * newest PATH.TIME.hdf5 next to PATH.hdf5, or creates it. message() is logged. */
static enum err open_beside(struct hdf5_state *s)
{
    char base[PATH_MAX], name[PATH_MAX];
    uint64_t time_s;
    if (snprintf(base, sizeof base, "%.*s", (int)(strlen(s->path) - strlen(HDF5_SUFFIX)), s->path) >= (int)sizeof base)
        return USAGE;
    enum err err = hdf5_names_newest(base, &time_s);
    if (err == ABSENT) {
        time_s = clock_realtime_ns() / NS_PER_S;
        err = OK;
    }
    if (!err)
        err = hdf5_names_make(base, time_s, name);
    if (!err)
        err = open_file(s, name, 0);
    if (!err)
        snprintf(s->message, sizeof s->message, "%.200s was written by Colmet and is left as it is; rows go to %.200s", s->path,
                 name);
    return err;
}

static enum err open_fixed(struct hdf5_state *s)
{
    enum err err = open_file(s, s->path, 0);
    return err == CORRUPT && hdf5_file_is_foreign(s->path) ? open_beside(s) : err;
}

static enum err check_settings(struct hdf5_state *s)
{
    s->message[0] = '\0';
    if (!s->path || !*s->path)
        snprintf(s->message, sizeof s->message, "path is missing: hdf5:path=/var/lib/sonde/colmet.hdf5");
    else if (s->level > 9)
        snprintf(s->message, sizeof s->message, "invalid level %llu (expected 0 to 9)", (unsigned long long)s->level);
    else if (s->involved_size < INVOLVED_MIN || s->involved_size > COLMET_INVOLVED_SIZE)
        snprintf(s->message, sizeof s->message, "invalid involved %llu (expected %d to %d)",
                 (unsigned long long)s->involved_size, INVOLVED_MIN, COLMET_INVOLVED_SIZE);
    return s->message[0] ? USAGE : OK;
}

static enum err hdf5_check(void *state)
{
    struct hdf5_state *s = state;
    enum err err = check_settings(s);
    return err ? err : writable_check(s->path, WRITABLE_FILE_BELOW, s->message, sizeof s->message);
}

static enum err hdf5_open(void *state)
{
    struct hdf5_state *s = state;
    enum err err = check_settings(s);
    if (err)
        return err;
    err = hdf5_names_make_parents(s->path);
    if (!err)
        err = colmet_rows_new(&s->rows);
    if (!err)
        err = hdf5_names_is_fixed(s->path) ? open_fixed(s) : open_next(s);
    if (err) {
        colmet_rows_free(&s->rows);
        return err;
    }
    s->committed_ns = clock_monotonic_ns();
    return OK;
}

static size_t label_count(const struct colmet_row *row)
{
    size_t count = 0;
    for (size_t i = 0; i < row->backend->count; i++)
        count += row->labels[i] != NULL;
    return count;
}

/* Reserves space for the row, and for new labels of its counters. */
static enum err reserve_row(struct hdf5_state *s, const struct colmet_row *row)
{
    struct hdf5_tables *tables = &s->file.tables;
    struct hdf5_table *table = hdf5_tables_find(tables, row->job, (int)row->backend->id);
    enum err err = table ? hdf5_tables_reserve(tables, table) : NOMEM;
    if (err || !colmet_mapping_is_new(&s->labels, row))
        return err;
    table = hdf5_tables_find(tables, 0, HDF5_MAPPING);
    if (!table)
        return NOMEM;
    for (size_t i = label_count(row); i > 0 && !err; i--)
        err = hdf5_tables_reserve(tables, table);
    return err;
}

static void add_row(struct hdf5_state *s, const struct colmet_row *row)
{
    struct hdf5_tables *tables = &s->file.tables;
    struct hdf5_table *table = hdf5_tables_find(tables, row->job, (int)row->backend->id);
    hdf5_layout_pack(&tables->layouts[row->backend->id], row, hdf5_tables_take(tables, table));
    if (!colmet_mapping_is_new(&s->labels, row) || colmet_mapping_note(&s->labels, row))
        return;
    table = hdf5_tables_find(tables, 0, HDF5_MAPPING);
    for (size_t i = 0; i < row->backend->count; i++)
        if (row->labels[i])
            hdf5_layout_pack_label(&tables->layouts[HDF5_MAPPING], row, i, hdf5_tables_take(tables, table));
}

/* Failure to write the CSV files does not stop the sink. */
static void write_csv(struct hdf5_state *s, const struct colmet_row *row)
{
    if (!s->mapping || !colmet_mapping_is_new(&s->files, row))
        return;
    colmet_mapping_note(&s->files, row);
    enum err err = colmet_mapping_write(row, s->mapping, true);
    if (err)
        snprintf(s->message, sizeof s->message, "%.200s: %s", s->mapping, err_text(err));
}

static enum err commit(struct hdf5_state *s)
{
    enum err err = hdf5_file_commit(&s->file);
    s->committed_ns = clock_monotonic_ns();
    if (err)
        set_message(s, s->file.path);
    return err;
}

/* Adds all rows of a batch or none. */
static enum err hdf5_write(void *state, const struct batch *batch)
{
    struct hdf5_state *s = state;
    const struct colmet_row *rows;
    size_t count;
    enum err err = s->file.tables.buffered_bytes > s->memory ? commit(s) : OK;
    if (!err)
        err = colmet_rows_make(s->rows, batch, &rows, &count);
    if (err)
        return err;
    for (size_t i = 0; i < count && !err; i++)
        err = reserve_row(s, &rows[i]);
    for (size_t i = 0; i < count && !err; i++) {
        add_row(s, &rows[i]);
        write_csv(s, &rows[i]);
    }
    hdf5_tables_cancel(&s->file.tables);
    if (!err && batch->position)
        s->file.position = batch->position;
    return err;
}

static enum err hdf5_flush(void *state, uint64_t deadline_ns)
{
    struct hdf5_state *s = state;
    (void)deadline_ns; /* writing a file does not block for long */
    uint64_t every_ns = s->every_ns ? s->every_ns : s->level ? EVERY_COMPRESSED_NS : EVERY_PLAIN_NS;
    bool is_early = clock_monotonic_ns() - s->committed_ns < every_ns && s->file.tables.buffered_bytes <= s->memory;
    return is_early ? OK : commit(s);
}

static enum err hdf5_resume(void *state, uint64_t *position)
{
    *position = ((struct hdf5_state *)state)->file.record.position;
    return OK;
}

static uint64_t hdf5_durable(const void *state)
{
    return ((const struct hdf5_state *)state)->file.record.position;
}

static const char *hdf5_message(const void *state)
{
    return ((const struct hdf5_state *)state)->message;
}

static void hdf5_close(void *state)
{
    struct hdf5_state *s = state;
    commit(s);
    hdf5_file_close(&s->file);
    colmet_rows_free(&s->rows);
    colmet_mapping_clear(&s->labels);
    colmet_mapping_clear(&s->files);
}

static const struct sink sink_hdf5 = {
    .name = "hdf5",
    .about = "an HDF5 file as Colmet's collector writes it, for PyTables and h5py",
    .settings = hdf5_settings,
    .state_size = sizeof(struct hdf5_state),
    .check = hdf5_check,
    .open = hdf5_open,
    .write = hdf5_write,
    .flush = hdf5_flush,
    .close = hdf5_close,
    .resume = hdf5_resume,
    .message = hdf5_message,
    .durable = hdf5_durable,
    .may_block = true, /* compression is slow, and rows are buffered across flushes */
};

SINK_MODULE_EXPORT(&sink_hdf5);
