/* Writes and reads samples of the sets syscall and syscall_time as JSON. */
#include "api/syscalls_json.h"

#include "api/schema.h"
#include "model/program_sets.h"
#include "syscalls/ebpf.h"

#include <string.h>

#define VALUES_MAX 32
#define TEXT_MAX 256

_Static_assert(SYSCALL_BUCKETS <= VALUES_MAX && SYSCALL_SIZE <= VALUES_MAX, "capacity for the values of a sample");

struct syscalls_row {
    const struct set *set; /* NULL: an unknown set */
    const char *instance;
    uint64_t values[VALUES_MAX];
    bool known[VALUES_MAX];
    size_t count;
};

static void write_sample(struct json *json, const struct sample *sample)
{
    json_begin_object(json);
    json_field_text(json, API_SET, sample->set->name);
    json_field_text(json, API_INSTANCE, sample->instance);
    json_key(json, API_VALUES);
    json_begin_array(json);
    for (size_t i = 0; i < sample->set->size; i++)
        if (!sample->known || sample->known[i])
            json_u64(json, sample->values[i].u64);
        else
            json_null(json);
    json_end_array(json);
    json_end_object(json);
}

void syscalls_json_write(struct json *json, const struct batch *batch)
{
    json_begin_array(json);
    for (size_t i = 0; i < batch->count; i++)
        write_sample(json, &batch->samples[i]);
    json_end_array(json);
}

static void read_values(struct json_read *read, struct syscalls_row *row)
{
    json_read_array(read);
    while (json_read_more(read)) {
        bool known = json_read_type(read) != JSON_NULL;
        uint64_t value = 0;
        if (known)
            json_read_u64(read, &value);
        else
            json_read_null(read);
        if (row->count < VALUES_MAX) {
            row->values[row->count] = value;
            row->known[row->count++] = known;
        }
    }
}

static const struct set *find_set(const char *name)
{
    return !strcmp(name, syscall_set.name) ? &syscall_set : !strcmp(name, syscall_time_set.name) ? &syscall_time_set : NULL;
}

static void read_row(struct json_read *read, struct syscalls_row *row)
{
    struct buf key, text;
    buf_init(&key, TEXT_MAX);
    buf_init(&text, TEXT_MAX);
    json_read_object(read);
    while (json_read_key(read, &key))
        if (!strcmp(buf_text(&key), API_SET) && json_read_text(read, &text))
            row->set = find_set(buf_text(&text));
        else if (!strcmp(buf_text(&key), API_INSTANCE) && json_read_text(read, &text))
            row->instance = ebpf_rows_intern(buf_text(&text));
        else if (!strcmp(buf_text(&key), API_VALUES))
            read_values(read, row);
        else
            json_read_skip(read);
    buf_clear(&key);
    buf_clear(&text);
}

static void add_row(const struct syscalls_row *row, uint64_t time_ns, struct batch *out)
{
    struct sample *sample = row->set && row->instance && row->count == row->set->size
                                ? batch_add(out, row->set, time_ns, row->instance) : NULL;
    for (size_t i = 0; sample && i < row->count; i++)
        if (row->known[i])
            sample_set_u64(sample, i, row->values[i]);
}

bool syscalls_json_read(struct json_read *read, uint64_t time_ns, struct batch *out)
{
    bool is_list = json_read_array(read);
    while (json_read_more(read)) {
        struct syscalls_row row = { 0 };
        read_row(read, &row);
        add_row(&row, time_ns, out);
    }
    return is_list;
}
