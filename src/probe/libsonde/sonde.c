/* libsonde: implements include/sonde.h on a metrics segment (probe/segment/segment.h). */
#include <sonde.h>

#include "probe/segment/segment.h"

#include <math.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))
#define LABELS_CAPACITY (SEGMENT_STRING_MAX + 1)

static struct segment segment = { .library = "sonde" };

/* struct sonde_inside_thread in sonde.h mirrors the segment writer's. */
_Static_assert(offsetof(struct segment_thread, count) == offsetof(struct sonde_inside_thread, count), "ABI");
_Static_assert(offsetof(struct segment_thread, busy) == offsetof(struct sonde_inside_thread, busy), "ABI");
_Static_assert(offsetof(struct segment_thread, chunks) == offsetof(struct sonde_inside_thread, pages), "ABI");
_Static_assert(SEGMENT_CHUNK_SHIFT == 9 && SEGMENT_GAUGE_UNSET == 0x7ff85042d6f6e465ull, "ABI");
_Static_assert(SEGMENT_BOUNDS_MAX == 501, "as the header and the manual say");

/* Bounds of histograms, one copy per distinct set. Never freed, since any thread may be using them. */
struct bounds {
    struct bounds *next;
    size_t count;
    double values[];
};
static struct bounds *interned_bounds[256];

__attribute__((destructor)) static void end(void)
{
    segment_end(&segment);
}

/* Replaces characters that Prometheus does not allow in label names. */
static void clean_label(char *name)
{
    for (char *c = name; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_' || (c > name && *c >= '0' && *c <= '9')))
            *c = '_';
}

struct metric_label {
    char *name; /* owned */
    const char *value;
};

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct metric_label *)a)->name, ((const struct metric_label *)b)->name);
}

static void free_list(struct metric_label *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i].name);
    free(list);
}

/* Number of labels; SIZE_MAX: one has no value, or its name is too long. */
static size_t count_labels(const char *const *labels)
{
    size_t count = 0;
    for (; labels[count * 2]; count++)
        if (!labels[count * 2 + 1] || strnlen(labels[count * 2], SEGMENT_STRING_MAX + 1) > SEGMENT_STRING_MAX)
            return SIZE_MAX;
    return count;
}

/* Sorted by name, so that the order in which a caller passes them does not matter. NULL: out of memory. */
static struct metric_label *sort_labels(const char *const *labels, size_t count)
{
    struct metric_label *list = calloc(count, sizeof *list);
    for (size_t i = 0; list && i < count; i++) {
        list[i] = (struct metric_label){ strdup(*labels[i * 2] ? labels[i * 2] : "_"), labels[i * 2 + 1] };
        if (!list[i].name) {
            free_list(list, count);
            return NULL;
        }
        clean_label(list[i].name);
    }
    if (list)
        qsort(list, count, sizeof *list, compare);
    return list;
}

static int write_labels(char *text, const struct metric_label *list, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        size_t before = size;
        size = segment_append_label(text, before, LABELS_CAPACITY, list[i].name, list[i].value);
        if (size == before)
            return SONDE_INVALID;
    }
    return SONDE_OK;
}

/* The caller frees *text; NULL: no labels. */
static int build_labels(const char *const *labels, char **text)
{
    *text = NULL;
    if (!labels || !labels[0])
        return SONDE_OK;
    size_t count = count_labels(labels);
    if (count == SIZE_MAX)
        return SONDE_INVALID;
    struct metric_label *list = sort_labels(labels, count);
    char *copy = list ? malloc(LABELS_CAPACITY) : NULL;
    int result = copy ? write_labels(copy, list, count) : SONDE_FULL;
    if (list)
        free_list(list, count);
    if (result)
        free(copy);
    else
        *text = copy;
    return result;
}

/* USAGE has two reasons: if the description itself is valid, the existing metric has another type. */
static int result_of(enum err err, const struct segment_description *description)
{
    if (err == OK)
        return SONDE_OK;
    if (err != USAGE)
        return SONDE_FULL;
    return segment_description_is_valid(description) ? SONDE_OTHER_TYPE : SONDE_INVALID;
}

static int create(uint32_t *place, struct segment_description *description, const char *const *labels)
{
    char *text;
    *place = SEGMENT_METRIC_NONE;
    int result = build_labels(labels, &text);
    if (result)
        return result;
    description->labels = text;
    result = result_of(segment_add_metric(&segment, description, place), description);
    free(text);
    return result;
}

EXPORT int sonde_counter_make(struct sonde_counter *counter, const char *name, const char *const *labels, const char *unit,
                              const char *help)
{
    struct segment_description description = { .name = name, .unit = unit, .help = help };
    description.kind = SEGMENT_COUNTER;
    description.type = SEGMENT_U64;
    return create(&counter->place, &description, labels);
}

EXPORT int sonde_real_counter_make(struct sonde_real_counter *counter, const char *name, const char *const *labels,
                                   const char *unit, const char *help)
{
    struct segment_description description = { .name = name, .unit = unit, .help = help };
    description.kind = SEGMENT_COUNTER;
    description.type = SEGMENT_F64;
    return create(&counter->place, &description, labels);
}

EXPORT int sonde_gauge_make(struct sonde_gauge *gauge, const char *name, const char *const *labels, const char *unit,
                            const char *help)
{
    struct segment_description description = { .name = name, .unit = unit, .help = help };
    description.kind = SEGMENT_GAUGE;
    description.type = SEGMENT_F64;
    return create(&gauge->place, &description, labels);
}

static struct bounds **bounds_bucket(const double *values, size_t count)
{
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        hash = (hash ^ bits) * 0x9e3779b97f4a7c15ull;
    }
    return &interned_bounds[hash >> 56];
}

/* A copy that is never freed. NULL: out of memory. */
static const double *intern_bounds(const double *values, size_t count)
{
    static const double none = 0;
    if (count == 0)
        return &none;
    struct bounds **bucket = bounds_bucket(values, count), *copy = NULL;
    struct bounds *first = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
    for (;;) {
        for (struct bounds *one = first; one; one = one->next)
            if (one->count == count && memcmp(one->values, values, count * sizeof *values) == 0) {
                free(copy);
                return one->values;
            }
        if (!copy && !(copy = malloc(sizeof *copy + count * sizeof *values)))
            return NULL;
        copy->count = count;
        copy->next = first;
        memcpy(copy->values, values, count * sizeof *values);
        if (__atomic_compare_exchange_n(bucket, &first, copy, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
            return copy->values;
    }
}

EXPORT int sonde_histogram_make(struct sonde_histogram *histogram, const char *name, const char *const *labels,
                                const char *unit, const char *help, const double *bounds, size_t count)
{
    struct segment_description description = { .name = name, .unit = unit, .help = help, .bounds = bounds, .bound_count = count };
    description.kind = SEGMENT_HISTOGRAM;
    description.type = SEGMENT_F64;
    *histogram = (struct sonde_histogram){ 0 };
    if (count > SEGMENT_BOUNDS_MAX || (count && !bounds))
        return SONDE_INVALID;
    const double *kept = intern_bounds(bounds, count);
    uint32_t place;
    int result = kept ? create(&place, &description, labels) : SONDE_FULL;
    if (!result)
        *histogram = (struct sonde_histogram){ place, (uint32_t)count, kept };
    return result;
}

EXPORT const char *sonde_result_text(int result)
{
    switch (result) {
    case SONDE_OK:
        return "created";
    case SONDE_FULL:
        return "out of space: the metric is not recorded";
    case SONDE_OTHER_TYPE:
        return "the name is already used by a metric of another type";
    case SONDE_INVALID:
        return "invalid metric description";
    default:
        return "unknown result";
    }
}

EXPORT void sonde_rank(int rank, int size)
{
    segment_set_rank(&segment, rank, size);
}

EXPORT uint64_t *sonde_inside_slots(uint32_t place)
{
    return segment_slots_slow(&segment, place);
}

EXPORT void sonde_inside_interrupting(uint64_t *slot, double value)
{
    segment_add_f64_from_handler(slot, value);
}

EXPORT void sonde_gauge_add(const struct sonde_gauge *gauge, double value)
{
    if (value == value)
        segment_gauge_add(segment_slots(&segment, gauge->place), value);
}

/* The first bound that is not below value. */
static size_t bucket_of(const struct sonde_histogram *histogram, double value)
{
    size_t low = 0, high = histogram->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (histogram->bounds[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

EXPORT void sonde_observe(const struct sonde_histogram *histogram, double value)
{
    if (!isfinite(value) || !histogram->place)
        return;
    uint64_t *slots = segment_slots(&segment, histogram->place);
    segment_add_u64(slots + bucket_of(histogram, value), 1);
    segment_add_f64(slots + histogram->count + 1, value);
}

EXPORT void sonde_call_add(const struct sonde_counter *counter, uint64_t value)
{
    sonde_add(counter, value);
}

EXPORT void sonde_call_add_real(const struct sonde_real_counter *counter, double value)
{
    sonde_add_real(counter, value);
}

EXPORT void sonde_call_set(const struct sonde_gauge *gauge, double value)
{
    sonde_set(gauge, value);
}
