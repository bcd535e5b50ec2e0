/* Descriptions of sets, tracks and jobs. Readers accept arbitrary bytes. */
#include "journal/describe.h"

#include "journal/set_pool.h"

#include <stdlib.h>
#include <zstd.h>

#define PACK_LEVEL 3

/* A string that may be NULL: 0, or its size + 1 and its bytes. */
static void pack_optional(struct packer *p, const char *text)
{
    if (!text) {
        pack_number(p, 0);
        return;
    }
    size_t size = strlen(text);
    pack_number(p, size + 1);
    memcpy(p->at, text, size); /* the caller reserved the capacity */
    p->at += size;
}

static void pack_string(struct packer *p, const char *text)
{
    pack_text(p, bytes_of(text));
}

static void pack_set(struct packer *p, const struct set *set)
{
    pack_string(p, set->name);
    pack_optional(p, set->instances);
    pack_number(p, set->size);
    for (size_t i = 0; i < set->size; i++) {
        const struct metric *m = &set->metrics[i];
        pack_number(p, (uint64_t)m->type << 1 | (uint64_t)m->kind);
        pack_string(p, m->name);
        pack_optional(p, m->unit);
        pack_optional(p, m->help);
        pack_optional(p, m->source);
    }
}

void describe_set(struct packer *p, uint32_t number, const struct set *set)
{
    pack_number(p, number);
    pack_set(p, set);
}

/* Compresses the description once for all streams that have the set. Leaves *packed empty if that is not worth it or
 * fails. */
static void compress_set(const struct set *set, struct bytes *packed)
{
    size_t capacity = stream_set_weight(set) + 16, bound = ZSTD_compressBound(capacity);
    uint8_t *memory = malloc(capacity + bound);
    if (!memory)
        return;
    struct packer p = { memory, memory + capacity, false };
    pack_set(&p, set);
    size_t plain = (size_t)(p.at - memory), size = ZSTD_compress(memory + capacity, bound, memory, plain, PACK_LEVEL);
    if (!p.full && !ZSTD_isError(size) && size < plain)
        *packed = set_pool_keep_packed(set, (struct bytes){ (const char *)memory + capacity, size });
    free(memory);
}

void describe_set_shared(struct packer *p, uint32_t number, struct stream_set *set)
{
    bool many = false;
    if (!set->packed.size)
        set->packed = set_pool_packed(set->set, &many);
    if (!set->packed.size && many)
        compress_set(set->set, &set->packed);
    pack_number(p, number);
    pack_text(p, set->packed);
    if (!set->packed.size)
        pack_set(p, set->set);
}

void describe_track(struct packer *p, const struct delta_track *track)
{
    pack_number(p, track->number);
    pack_number(p, track->set_number);
    pack_string(p, track->instance);
    pack_optional(p, track->job);
}

void describe_job(struct packer *p, uint32_t number, const struct job *job)
{
    pack_number(p, number);
    pack_string(p, job->id);
    pack_string(p, job->other_id);
    pack_string(p, job->source);
    pack_string(p, job->user);
    pack_number(p, job->uid == UINT32_MAX ? 0 : (uint64_t)job->uid + 1);
    pack_number(p, job->start_ns);
    pack_number(p, job->end_ns);
    pack_number(p, job->cores_milli);
    pack_number(p, job->memory_bytes);
}

/* Strings become C strings, so they must not contain NUL. */
static struct bytes check_string(struct unpacker *u, struct bytes text)
{
    if (text.size > STREAM_STRING_MAX || (text.size && memchr(text.data, '\0', text.size))) {
        u->bad = true;
        return (struct bytes){ 0 };
    }
    return text;
}

static struct bytes read_string(struct unpacker *u)
{
    struct bytes text = check_string(u, unpack_text(u));
    if (!text.data)
        text.data = "";
    return text;
}

/* .data is NULL when there is none. */
static struct bytes read_optional(struct unpacker *u)
{
    uint64_t size = unpack_number(u);
    if (u->bad || size == 0)
        return (struct bytes){ 0 };
    if (size - 1 > (uint64_t)(u->end - u->at)) {
        u->bad = true;
        return (struct bytes){ 0 };
    }
    struct bytes text = { (const char *)u->at, (size_t)size - 1 };
    u->at += size - 1;
    return check_string(u, text);
}

/* Copies strings into one allocation. The first pass, with to NULL, only adds up their size. */
struct string_copier {
    char *to;
    size_t size;
};

static const char *copy_string(struct string_copier *strings, struct bytes text)
{
    if (!text.data)
        return NULL;
    strings->size += text.size + 1;
    if (!strings->to)
        return "";
    char *copy = strings->to;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    strings->to += text.size + 1;
    return copy;
}

static struct metric read_metric(struct unpacker *u, struct string_copier *strings)
{
    uint64_t kind = unpack_number(u);
    if (kind > ((uint64_t)F64 << 1 | GAUGE))
        u->bad = true;
    struct metric metric = { .kind = (enum metric_kind)(kind & 1), .type = (enum metric_type)(kind >> 1 & 3) };
    metric.name = copy_string(strings, read_string(u));
    metric.unit = copy_string(strings, read_optional(u));
    metric.help = copy_string(strings, read_optional(u));
    metric.source = copy_string(strings, read_optional(u));
    return metric;
}

static void read_head(struct unpacker *u, struct string_copier *strings, struct set *set)
{
    set->name = copy_string(strings, read_string(u));
    set->instances = copy_string(strings, read_optional(u));
    uint64_t size = unpack_number(u);
    if (size > SET_METRICS_MAX || size > (uint64_t)(u->end - u->at))
        u->bad = true;
    set->size = u->bad ? 0 : (size_t)size;
}

/* Two passes over the same bytes: the first validates them and computes the size of the allocation. */
static enum err read_set(struct unpacker *u, struct set **out)
{
    struct unpacker first = *u;
    struct string_copier strings = { 0 };
    struct set head;
    read_head(&first, &strings, &head);
    for (size_t i = 0; i < head.size && !first.bad; i++)
        read_metric(&first, &strings);
    if (first.bad)
        return CORRUPT;
    struct set *set = malloc(sizeof *set + head.size * sizeof(struct metric) + strings.size);
    if (!set)
        return NOMEM;
    struct metric *metrics = (struct metric *)(set + 1);
    strings.to = (char *)(metrics + head.size);
    read_head(u, &strings, set);
    for (size_t i = 0; i < set->size; i++)
        metrics[i] = read_metric(u, &strings);
    set->metrics = metrics;
    *out = set;
    return OK;
}

static bool read_set_number(struct unpacker *u, const struct delta_stream *stream, uint32_t *number)
{
    uint64_t read = unpack_number(u);
    *number = (uint32_t)read;
    return !u->bad && read < STREAM_SETS_MAX && !(read < stream->set_count && stream->sets[read].set);
}

enum err describe_read_set(struct unpacker *u, struct delta_stream *stream)
{
    uint32_t number;
    struct set *set;
    const struct set *kept;
    if (!read_set_number(u, stream, &number))
        return CORRUPT;
    enum err err = read_set(u, &set);
    if (!err)
        err = set_pool_take(set, &kept);
    return err ? err : stream_add_set(stream, number, kept);
}

/* A compressed set that is not in the pool yet. */
static enum err intern_packed(struct bytes packed, const struct set **kept)
{
    struct set *set;
    unsigned long long size = ZSTD_getFrameContentSize(packed.data, packed.size);
    if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR || size == 0)
        return CORRUPT;
    if (size > STREAM_WEIGHT_MAX)
        return FULL;
    uint8_t *plain = malloc((size_t)size);
    if (!plain)
        return NOMEM;
    struct unpacker u = { plain, plain + size, false };
    enum err err = ZSTD_decompress(plain, (size_t)size, packed.data, packed.size) == size ? read_set(&u, &set) : CORRUPT;
    if (!err && u.at != u.end) {
        free(set);
        err = CORRUPT;
    }
    free(plain);
    if (!err)
        err = set_pool_take(set, kept);
    return err;
}

enum err describe_read_set_shared(struct unpacker *u, struct delta_stream *stream)
{
    uint32_t number;
    struct set *set = NULL;
    const struct set *kept = NULL;
    if (!read_set_number(u, stream, &number))
        return CORRUPT;
    struct bytes packed = unpack_text(u);
    enum err err = u->bad ? CORRUPT : packed.size ? set_pool_take_packed(&packed, &kept) : read_set(u, &set);
    if (!err && !packed.size)
        err = set_pool_take(set, &kept);
    if (err == ABSENT) {
        err = intern_packed(packed, &kept);
        packed = err ? packed : set_pool_keep_packed(kept, packed);
    }
    if (!err)
        err = stream_add_set(stream, number, kept);
    if (!err)
        stream->sets[number].packed = packed;
    return err;
}

enum err describe_read_track(struct unpacker *u, struct delta_stream *stream, struct delta_track **track)
{
    uint64_t number = unpack_number(u), set_number = unpack_number(u);
    struct bytes instance = read_string(u), job = read_optional(u);
    if (u->bad || number >= STREAM_TRACKS_MAX || stream_track_at(stream, number) || set_number >= stream->set_count
        || !stream->sets[set_number].set)
        return CORRUPT;
    return stream_add_track(stream, (uint32_t)number, (uint32_t)set_number, instance, job.data ? &job : NULL, track);
}

static const char *read_c_string(struct unpacker *u, char text[STREAM_STRING_MAX + 1])
{
    struct bytes bytes = read_string(u);
    memcpy(text, bytes.data, bytes.size);
    text[bytes.size] = '\0';
    return text;
}

enum err describe_read_job(struct unpacker *u, struct delta_stream *stream)
{
    char id[STREAM_STRING_MAX + 1], other_id[STREAM_STRING_MAX + 1], source[STREAM_STRING_MAX + 1], user[STREAM_STRING_MAX + 1];
    uint64_t number = unpack_number(u);
    struct job job = {
        .id = read_c_string(u, id), .other_id = read_c_string(u, other_id), .source = read_c_string(u, source),
        .user = read_c_string(u, user),
    };
    uint64_t uid = unpack_number(u);
    job.start_ns = unpack_number(u);
    job.end_ns = unpack_number(u);
    job.cores_milli = unpack_number(u);
    job.memory_bytes = unpack_number(u);
    if (u->bad || number >= STREAM_JOBS_MAX || uid > UINT32_MAX)
        return CORRUPT;
    job.uid = uid ? (uint32_t)(uid - 1) : UINT32_MAX;
    if (stream_job_weight(&job) > STREAM_WEIGHT_MAX - stream->weight)
        return FULL;
    struct stream_job *copy = stream_reserve_job(stream, (uint32_t)number) ? NULL : stream_job_copy(&job);
    if (!copy)
        return NOMEM;
    stream_set_job_take(stream, (uint32_t)number, copy);
    return OK;
}
