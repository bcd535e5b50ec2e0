/* The sink `csv`. By default one row per value, so that all metric sets fit into one file; with set=NAME one row per
 * sample of that set and one column per metric; with dir=DIRECTORY many files in a tree (sinks/csv/tree.c). */
#include "sinks/csv/csv.h"

#include "base/format.h"
#include "base/utf8.h"
#include "sinks/csv/path.h"
#include "sinks/csv/tree.h"
#include "sinks/output.h"
#include "sinks/sink.h"
#include "sinks/writable.h"

#include <grp.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct csv_state {
    const char *path, *set;
    bool append;
    struct output output;
    bool has_header;
    const char *dir, *layout, *template, *node_template, *container, *producer, *access, *group;
    bool copies;
    uint64_t rotate_bytes, rotate_ns, commit_ns;
    struct csv_tree *tree;
    char message[512];
};

static const struct setting csv_settings[] = {
    { "path", SETTING_TEXT, NULL, offsetof(struct csv_state, path), "output file; default: standard output" },
    { "set", SETTING_TEXT, NULL, offsetof(struct csv_state, set), "only this set, with one column per metric" },
    { "append", SETTING_FLAG, "no", offsetof(struct csv_state, append),
      "append to the file, and write each batch immediately" },
    { "dir", SETTING_TEXT, NULL, offsetof(struct csv_state, dir),
      "write many files below this directory, with LDMS's columns; excludes path and set" },
    { "layout", SETTING_TEXT, "jobs", offsetof(struct csv_state, layout),
      "with dir: jobs (USER/JOB/HOST/SET.csv and node/HOST/SET.csv), or ldms (CONTAINER/SCHEMA, all hosts in one file)" },
    { "template", SETTING_TEXT, NULL, offsetof(struct csv_state, template),
      "with dir: path for samples of jobs, for example %{user}/%{job}/%{host}/%{set}.csv" },
    { "node_template", SETTING_TEXT, NULL, offsetof(struct csv_state, node_template),
      "with dir: path for samples of nodes, for example node/%{host}/%{set}.csv" },
    { "container", SETTING_TEXT, "sonde", offsetof(struct csv_state, container), "layout=ldms: directory of its files" },
    { "producer", SETTING_TEXT, NULL, offsetof(struct csv_state, producer),
      "layout=ldms: ProducerName, for example %{user}-%{host}, with a row for each user of the node; default: %{host}" },
    { "copies", SETTING_FLAG, "yes", offsetof(struct csv_state, copies),
      "layout=jobs: copy samples of a node to the directories of the jobs running on it" },
    { "access", SETTING_TEXT, "all", offsetof(struct csv_state, access),
      "with dir: who may read new directories of users (%{user}): all, or user (only the user and group)" },
    { "group", SETTING_TEXT, NULL, offsetof(struct csv_state, group), "access=user: a group that may read all of them" },
    { "rotate_size", SETTING_BYTES, "0", offsetof(struct csv_state, rotate_bytes),
      "with dir: rename a file of this size to FILE.TIME and start a new one; 0: never" },
    { "rotate_every", SETTING_DURATION, "0", offsetof(struct csv_state, rotate_ns),
      "with dir: the same for a file of this age; 0: never" },
    { "commit", SETTING_DURATION, "5s", offsetof(struct csv_state, commit_ns),
      "with dir: interval of syncs to disk; lines are visible immediately" },
    { 0 },
};

static bool is_separator(char c)
{
    return c == ',' || c == '"' || c == '\r' || c == '\n';
}

static bool needs_quotes(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++)
        if (is_separator(text.data[i]))
            return true;
    return text.size && (text.data[0] == ' ' || text.data[text.size - 1] == ' ');
}

/* Length of the prefix that needs no escapes. */
static size_t plain_size(struct bytes text)
{
    size_t size = 0;
    while (size < text.size && (signed char)text.data[size] > 0 && text.data[size] != '"')
        size++;
    return size;
}

static size_t add_character(struct buf *out, struct bytes text)
{
    uint32_t code;
    size_t size = utf8_next(text, &code);
    if (size == 0 || code == 0) {
        buf_printf(out, "\\x%02x", (unsigned char)text.data[0]);
        return 1;
    }
    if (code == '"')
        buf_add_char(out, '"');
    buf_add(out, text.data, size);
    return size;
}

void csv_add_text(struct buf *out, struct bytes text)
{
    bool quoted = needs_quotes(text);
    if (quoted)
        buf_add_char(out, '"');
    while (text.size) {
        size_t taken = plain_size(text);
        buf_add(out, text.data, taken);
        if (taken < text.size)
            taken += add_character(out, (struct bytes){ text.data + taken, text.size - taken });
        text = (struct bytes){ text.data + taken, text.size - taken };
    }
    if (quoted)
        buf_add_char(out, '"');
}

void csv_add_value(struct buf *out, enum metric_type type, union value value)
{
    switch (type) {
    case U64: buf_add_u64(out, value.u64); break;
    case I64: buf_printf(out, "%" PRId64, value.i64); break;
    case F64:
        if (isinf(value.f64))
            buf_add_text(out, value.f64 > 0 ? "inf" : "-inf");
        else if (!isnan(value.f64))
            buf_add_text(out, format_f64(value.f64).s);
        break;
    }
}

static void end_row(struct buf *out)
{
    buf_add_text(out, "\r\n");
}

/* "time_ns,host,job," */
static void add_key_columns(struct buf *out, const struct batch *batch, const struct sample *sample)
{
    buf_add_u64(out, sample->time_ns);
    buf_add_char(out, ',');
    csv_add_text(out, bytes_of(batch->host));
    buf_add_char(out, ',');
    csv_add_text(out, bytes_of(sample->job));
    buf_add_char(out, ',');
}

static bool is_known(const struct sample *sample, size_t i)
{
    return !sample->known || sample->known[i];
}

static void add_long(struct buf *out, const struct batch *batch, const struct sample *sample)
{
    for (size_t i = 0; i < sample->set->size; i++) {
        const struct metric *metric = &sample->set->metrics[i];
        if (!is_known(sample, i))
            continue;
        add_key_columns(out, batch, sample);
        csv_add_text(out, bytes_of(sample->set->name));
        buf_add_char(out, ',');
        csv_add_text(out, bytes_of(sample->instance));
        buf_add_char(out, ',');
        csv_add_text(out, bytes_of(metric->name));
        buf_add_char(out, ',');
        csv_add_text(out, bytes_of(metric->unit));
        buf_add_char(out, ',');
        csv_add_value(out, metric->type, sample->values[i]);
        end_row(out);
    }
}

static void add_wide_header(struct buf *out, const struct set *set)
{
    buf_add_text(out, "time_ns,host,job,instance");
    for (size_t i = 0; i < set->size; i++) {
        buf_add_char(out, ',');
        csv_add_text(out, bytes_of(set->metrics[i].name));
    }
    end_row(out);
}

static void add_wide(struct buf *out, const struct batch *batch, const struct sample *sample)
{
    add_key_columns(out, batch, sample);
    csv_add_text(out, bytes_of(sample->instance));
    for (size_t i = 0; i < sample->set->size; i++) {
        buf_add_char(out, ',');
        if (is_known(sample, i))
            csv_add_value(out, sample->set->metrics[i].type, sample->values[i]);
    }
    end_row(out);
}

static void add_sample(struct csv_state *s, const struct batch *batch, const struct sample *sample)
{
    struct buf *out = &s->output.out;
    if (!s->set) {
        add_long(out, batch, sample);
        return;
    }
    if (strcmp(sample->set->name, s->set) != 0)
        return;
    if (!s->has_header)
        add_wide_header(out, sample->set);
    s->has_header = true;
    add_wide(out, batch, sample);
}

static enum err reject(struct csv_state *s, const char *error)
{
    snprintf(s->message, sizeof s->message, "%s", error);
    return USAGE;
}

static bool is_ldms(const struct csv_state *s)
{
    return strcmp(s->layout, "ldms") == 0;
}

/* The setting, or the default of the layout. */
static const char *template_of(const struct csv_state *s)
{
    return s->template ? s->template : is_ldms(s) ? CSV_TREE_LDMS_TEMPLATE : CSV_TREE_TEMPLATE;
}

static const char *node_template_of(const struct csv_state *s)
{
    return s->node_template ? s->node_template : is_ldms(s) ? CSV_TREE_LDMS_TEMPLATE : CSV_TREE_NODE_TEMPLATE;
}

static enum err find_group(struct csv_state *s, gid_t *gid)
{
    const struct group *group = s->group ? getgrnam(s->group) : NULL;
    *gid = group ? group->gr_gid : (gid_t)-1;
    if (!s->group || group)
        return OK;
    snprintf(s->message, sizeof s->message, "unknown group '%.100s'", s->group);
    return USAGE;
}

static enum err check_access(struct csv_state *s)
{
    bool for_users = strcmp(s->access, "user") == 0;
    gid_t gid;
    if (!for_users && strcmp(s->access, "all") != 0)
        return reject(s, "invalid access (expected all or user)");
    if (s->group && !for_users)
        return reject(s, "group needs access=user");
    if (for_users && !strstr(template_of(s), "%{user}/"))
        return reject(s, "access=user needs a template with a directory %{user}");
    return find_group(s, &gid);
}

static enum err check_tree(struct csv_state *s)
{
    struct buf error;
    if (s->path || s->set)
        return reject(s, "dir excludes path and set");
    if (!is_ldms(s) && strcmp(s->layout, "jobs") != 0) {
        snprintf(s->message, sizeof s->message, "invalid layout '%.100s' (expected jobs or ldms)", s->layout);
        return USAGE;
    }
    if (s->producer && !is_ldms(s))
        return reject(s, "producer needs layout=ldms");
    enum err access = check_access(s);
    if (access)
        return access;
    buf_init(&error, sizeof s->message);
    enum err err = csv_path_check(template_of(s), &error);
    if (!err)
        err = csv_path_check(node_template_of(s), &error);
    if (!err && s->producer)
        err = ldms_producer_check(s->producer, &error);
    snprintf(s->message, sizeof s->message, "%s", buf_text(&error));
    buf_clear(&error);
    return err;
}

static enum err csv_check(void *state)
{
    struct csv_state *s = state;
    if (!s->dir && (s->rotate_bytes || s->rotate_ns || s->template || s->node_template || s->producer
                    || s->group || strcmp(s->access, "all") != 0 || strcmp(s->layout, "jobs") != 0))
        return reject(s, "layout, template, node_template, producer, access, group, "
                         "rotate_size and rotate_every need dir=DIRECTORY");
    enum err err = s->dir ? check_tree(s) : OK;
    if (!err)
        err = writable_check(s->dir ? s->dir : s->path, s->dir ? WRITABLE_DIRECTORY : WRITABLE_FILE, s->message,
                             sizeof s->message);
    return err;
}

static enum err open_tree(struct csv_state *s)
{
    s->tree = calloc(1, sizeof *s->tree);
    if (!s->tree)
        return NOMEM;
    s->tree->container = s->container;
    s->tree->eager = s->append;
    s->tree->commit_ns = s->commit_ns;
    s->tree->template = template_of(s);
    s->tree->node_template = node_template_of(s);
    s->tree->is_ldms = is_ldms(s);
    s->tree->ldms.producer = s->producer;
    s->tree->copies = s->copies && !is_ldms(s);
    enum err err = check_tree(s);
    gid_t gid;
    if (!err)
        err = find_group(s, &gid);
    if (!err) {
        err = csv_tree_open(s->tree, s->dir, s->rotate_bytes, s->rotate_ns);
        s->tree->files.for_users = strcmp(s->access, "user") == 0;
        s->tree->files.gid = gid;
        snprintf(s->message, sizeof s->message, "%s", s->tree->files.message);
    }
    if (err) {
        free(s->tree);
        s->tree = NULL;
    }
    return err;
}

static void add_header(struct csv_state *s)
{
    if (!s->set)
        buf_add_text(&s->output.out, "time_ns,host,job,set,instance,metric,unit,value\r\n");
}

static enum err csv_open(void *state)
{
    struct csv_state *s = state;
    bool is_new = true;
    if (s->dir)
        return open_tree(s);
    enum err err = s->append ? output_append(&s->output, s->path, &is_new) : output_open(&s->output, s->path);
    s->has_header = !is_new;
    if (!err && is_new)
        add_header(s);
    /* Written immediately, so that whoever opens the file a second time (at SIGHUP) sees that it has a header. */
    if (!err && is_new && s->output.is_file && output_write(&s->output))
        add_header(s);
    return err;
}

/* A failed batch was removed from the file, and with it the header if it was the first. */
static void restore_header(struct csv_state *s)
{
    if (!s->output.is_file || s->output.batch_start)
        return;
    s->has_header = false;
    add_header(s);
}

static enum err csv_write(void *state, const struct batch *batch)
{
    struct csv_state *s = state;
    if (s->tree)
        return csv_tree_write(s->tree, batch);
    enum err err = output_is_stuck(&s->output) ? output_write(&s->output) : OK;
    if (!err && output_is_stuck(&s->output))
        return AGAIN;
    if (!err)
        err = output_begin_batch(&s->output, batch->position);
    for (size_t i = 0; i < batch->count && !err; i++) {
        add_sample(s, batch, &batch->samples[i]);
        err = output_write_if_large(&s->output);
    }
    if (!err && s->append)
        err = output_write(&s->output);
    if (err)
        restore_header(s);
    return err;
}

static enum err csv_flush(void *state, uint64_t deadline_ns)
{
    struct csv_state *s = state;
    return s->tree ? csv_tree_flush(s->tree, deadline_ns) : output_flush(&s->output); /* writing a file does not block for long */
}

static void csv_close(void *state)
{
    struct csv_state *s = state;
    if (!s->tree) {
        output_close(&s->output);
        return;
    }
    csv_tree_flush(s->tree, 0);
    csv_tree_close(s->tree);
    free(s->tree);
    s->tree = NULL;
}

static enum err csv_resume(void *state, uint64_t *position)
{
    const struct csv_state *s = state;
    *position = s->tree ? s->tree->files.position : s->output.checkpoint.position;
    return OK;
}

static uint64_t csv_durable(const void *state)
{
    const struct csv_state *s = state;
    return s->tree ? s->tree->files.position : s->output.flushed;
}

static const char *csv_message(const void *state)
{
    const struct csv_state *s = state;
    return s->tree ? s->tree->files.message : s->message;
}

const struct sink sink_csv = {
    .name = "csv",
    .about = "comma-separated values in a file, on standard output, or in a tree of files with LDMS's columns",
    .settings = csv_settings,
    .state_size = sizeof(struct csv_state),
    .check = csv_check,
    .open = csv_open,
    .write = csv_write,
    .flush = csv_flush,
    .close = csv_close,
    .resume = csv_resume,
    .durable = csv_durable,
    .message = csv_message,
};
