/* Writes a row of a sample to each of its files. sinks/csv/files.c buffers the lines. */
#include "sinks/csv/tree.h"

#include "base/clock.h"
#include "compat/ldms/names.h"
#include "sinks/csv/csv.h"
#include "sinks/csv/path.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PATH_MAX_SIZE CSV_FILES_PATH_MAX
#define HEADER_MAX (1u << 20)
#define ROW_MAX (1u << 20)
#define HEADERS (sizeof ((struct csv_tree *)0)->headers / sizeof ((struct csv_tree *)0)->headers[0])

enum err csv_tree_open(struct csv_tree *tree, const char *dir, uint64_t rotate_bytes, uint64_t rotate_ns)
{
    buf_init(&tree->path, PATH_MAX_SIZE);
    buf_init(&tree->header, HEADER_MAX);
    buf_init(&tree->row, ROW_MAX);
    for (size_t i = 0; i < HEADERS; i++)
        buf_init(&tree->headers[i].text, HEADER_MAX);
    tree->committed_ns = clock_monotonic_ns();
    enum err err = csv_files_open(&tree->files, dir);
    tree->files.rotate_bytes = rotate_bytes;
    tree->files.rotate_ns = rotate_ns;
    tree->position = tree->files.position;
    if (err)
        csv_tree_close(tree);
    return err;
}

void csv_tree_close(struct csv_tree *tree)
{
    char message[sizeof tree->files.message];
    memcpy(message, tree->files.message, sizeof message);
    csv_files_close(&tree->files);
    memcpy(tree->files.message, message, sizeof message);
    ldms_batch_clear(&tree->ldms);
    buf_clear(&tree->path);
    buf_clear(&tree->header);
    buf_clear(&tree->row);
    for (size_t i = 0; i < HEADERS; i++)
        buf_clear(&tree->headers[i].text);
}

static void add_header(struct buf *out, const struct set *set)
{
    buf_add_text(out, "#Time,Time_usec,ProducerName,component_id,job_id,app_id");
    if (set->instances)
        buf_printf(out, ",%s_list_entry_idx,%s_list_name", set->instances, set->instances);
    for (size_t i = 0; i < set->size; i++) {
        buf_add_char(out, ',');
        csv_add_text(out, bytes_of(set->metrics[i].source ? set->metrics[i].source : set->metrics[i].name));
    }
}

static const struct csv_tree_header *header_of(struct csv_tree *tree, const struct set *set)
{
    struct csv_tree_header *header = &tree->headers[(uintptr_t)set / 16 % HEADERS];
    /* ldms_batch recreates this set, possibly at the same address */
    bool is_volatile = tree->is_ldms && strcmp(set->name, "interrupts") == 0;
    if (is_volatile || header->set != set || header->metrics != set->metrics || header->size != set->size) {
        buf_reset(&header->text);
        add_header(&header->text, set);
        header->set = set;
        header->name = tree->is_ldms ? ldms_set_name(set->name) : set->name;
        header->metrics = set->metrics;
        header->size = set->size;
        header->header = csv_file_header_of((struct bytes){ header->text.data, header->text.size });
        header->has_units = false;
        for (size_t i = 0; i < set->size; i++)
            header->has_units |= ldms_unit_of(set, &set->metrics[i]).divisor != 1;
    }
    return header;
}

/* "1794767344.001246,1246": Time and Time_usec. */
static void add_time(struct buf *row, uint64_t time_ns)
{
    char digits[7];
    uint64_t us = time_ns % NS_PER_S / 1000;
    buf_add_u64(row, time_ns / NS_PER_S);
    digits[0] = '.';
    for (int i = 6, rest = (int)us; i > 0; i--, rest /= 10)
        digits[i] = (char)('0' + rest % 10);
    buf_add(row, digits, sizeof digits);
    buf_add_char(row, ',');
    buf_add_u64(row, us);
}

/* Columns with the kernel's names are in the kernel's units, as in LDMS. */
static void add_values(struct buf *row, const struct sample *sample, bool has_units)
{
    const struct set *set = sample->set;
    for (size_t i = 0; i < set->size; i++) {
        union value value = sample->values[i];
        buf_add_char(row, ',');
        if (sample->known && !sample->known[i])
            continue;
        if (has_units && set->metrics[i].type == U64)
            value.u64 /= ldms_unit_of(set, &set->metrics[i]).divisor;
        csv_add_value(row, set->metrics[i].type, value);
    }
}

/* The columns before the values. */
static void add_key_columns(struct buf *row, const char *host, const struct sample *sample, const struct ldms_row *facts)
{
    add_time(row, sample->time_ns);
    buf_add_char(row, ',');
    csv_add_text(row, bytes_of(facts->producer));
    buf_add_char(row, ',');
    buf_add_u64(row, ldms_component(host));
    buf_add_char(row, ',');
    csv_add_text(row, bytes_of(facts->jobs && *facts->jobs ? facts->jobs : "0"));
    buf_add_text(row, ",0");
    if (sample->set->instances) {
        buf_add_char(row, ',');
        buf_add_u64(row, facts->index);
        buf_add_char(row, ',');
        csv_add_text(row, bytes_of(sample->instance));
    }
}

struct row_place {
    struct csv_tree *tree;
    const struct batch *batch;
    const struct sample *sample;
    struct ldms_row row; /* is_ldms: complete; otherwise the index only */
};

/* owner: the job that the row belongs to; NULL: unknown. */
static enum err write_to(const struct row_place *place, const char *template, const struct job *owner, const char *job)
{
    struct csv_tree *tree = place->tree;
    const struct sample *sample = place->sample;
    const char *host = place->batch->host ? place->batch->host : "";
    const struct csv_tree_header *header = header_of(tree, sample->set);
    const struct csv_path where = { owner ? owner->user : "", job, host, header->name, sample->instance, tree->container };
    buf_reset(&tree->path);
    csv_path_add(&tree->path, template, &where);
    if (buf_err(&tree->path))
        return USAGE;
    const struct csv_user user = { tree->files.for_users ? csv_path_user_prefix(template, &where) : 0,
                                   owner ? owner->uid : (uid_t)-1 };
    struct csv_file *file = csv_files_get(&tree->files, buf_text(&tree->path), &user, &header->header);
    if (!file)
        return tree->files.message[0] ? IO : NOMEM;
    size_t before = file->out.size;
    struct ldms_row row = place->row;
    if (!tree->is_ldms) {
        row.producer = host;
        row.jobs = job ? job : "";
    }
    add_key_columns(&file->out, host, sample, &row);
    add_values(&file->out, sample, header->has_units);
    buf_add_char(&file->out, '\n');
    csv_files_added(&tree->files, file, file->out.size - before);
    return buf_err(&file->out);
}

/* Samples of a job go to its file; samples of a node to the node's file, and to those of the jobs on it. */
static enum err write_sample(const struct row_place *place)
{
    struct csv_tree *tree = place->tree;
    const struct batch *batch = place->batch;
    const struct sample *sample = place->sample;
    if (sample->job)
        return write_to(place, tree->template, batch_job(batch, sample), sample->job);
    enum err err = write_to(place, tree->node_template, NULL, NULL);
    for (size_t i = 0; tree->copies && i < batch->job_count && !err; i++)
        err = write_to(place, tree->template, batch->jobs[i], batch->jobs[i]->id);
    return err;
}

/* Writes buffered lines first: if that fails, nothing of this batch is buffered, and the caller delivers it again. */
enum err csv_tree_write(struct csv_tree *tree, const struct batch *batch)
{
    enum err err = tree->files.buffered > CSV_FILES_BUFFER_MAX ? csv_files_write(&tree->files) : OK;
    struct row_place place = { .tree = tree, .batch = batch };
    if (!err && tree->is_ldms)
        err = ldms_batch_make(&tree->ldms, batch, &batch);
    if (err)
        return err;
    place.batch = batch;
    tree->files.is_undoable = batch->position != 0;
    for (size_t i = 0; i < batch->count && !err; i++) {
        place.sample = &batch->samples[i];
        place.row.index = i && batch->samples[i - 1].set == place.sample->set ? place.row.index + 1 : 0;
        if (tree->is_ldms)
            place.row = tree->ldms.rows[i];
        err = write_sample(&place);
    }
    if (err)
        return err;
    tree->position = batch->position;
    return tree->eager ? csv_files_write(&tree->files) : OK;
}

enum err csv_tree_flush(struct csv_tree *tree, uint64_t deadline_ns)
{
    uint64_t now_ns = clock_monotonic_ns();
    bool is_due = !deadline_ns || now_ns - tree->committed_ns >= tree->commit_ns;
    enum err err = csv_files_write(&tree->files);
    if (err || !is_due)
        return err;
    err = csv_files_commit(&tree->files, tree->position, clock_realtime_ns());
    if (!err)
        tree->committed_ns = now_ns;
    return err;
}
