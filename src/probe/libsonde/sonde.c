/* libsonde: what include/sonde.h promises to programs, on a board (probe/segment/segment.h). */
#include <sonde.h>

#include "probe/segment/segment.h"

#include <math.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))
#define LABELS_ROOM (BOARD_TEXT_MAX + 1)

static struct board board = { .library = "sonde" };

/* What the header knows of a thread is what the board's writer has. */
_Static_assert(offsetof(struct board_thread, count) == offsetof(struct sonde_inside_thread, count), "ABI");
_Static_assert(offsetof(struct board_thread, busy) == offsetof(struct sonde_inside_thread, busy), "ABI");
_Static_assert(offsetof(struct board_thread, chunks) == offsetof(struct sonde_inside_thread, pages), "ABI");
_Static_assert(BOARD_CHUNK_SHIFT == 9 && BOARD_GAUGE_UNSET == 0x7ff85042d6f6e465ull, "ABI");
_Static_assert(BOARD_BOUNDS_MAX == 501, "as the header and the manual say");

/* Bounds that histograms have, each set once: they stay as long as the program, since any thread may look at them. */
struct bounds {
    struct bounds *next;
    size_t count;
    double values[];
};
static struct bounds *bounds_known[256];

__attribute__((destructor)) static void end(void)
{
    board_end(&board);
}

/* As Prometheus wants the names of labels. */
static void clean_label(char *name)
{
    for (char *c = name; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_' || (c > name && *c >= '0' && *c <= '9')))
            *c = '_';
}

struct label {
    char *name; /* owned */
    const char *value;
};

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct label *)a)->name, ((const struct label *)b)->name);
}

static void free_list(struct label *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i].name);
    free(list);
}

/* How many there are; SIZE_MAX: one has no value, or a name that is too long. */
static size_t count_labels(const char *const *labels)
{
    size_t count = 0;
    for (; labels[count * 2]; count++)
        if (!labels[count * 2 + 1] || strnlen(labels[count * 2], BOARD_TEXT_MAX + 1) > BOARD_TEXT_MAX)
            return SIZE_MAX;
    return count;
}

/* In the order of their names: whoever names them in another one means the same metric. NULL: no memory. */
static struct label *sort_labels(const char *const *labels, size_t count)
{
    struct label *list = calloc(count, sizeof *list);
    for (size_t i = 0; list && i < count; i++) {
        list[i] = (struct label){ strdup(*labels[i * 2] ? labels[i * 2] : "_"), labels[i * 2 + 1] };
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

static int write_labels(char *text, const struct label *list, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        size_t before = size;
        size = board_label(text, before, LABELS_ROOM, list[i].name, list[i].value);
        if (size == before)
            return SONDE_INVALID;
    }
    return SONDE_OK;
}

/* The text is the caller's to free; NULL in *text: no labels. */
static int make_labels(const char *const *labels, char **text)
{
    *text = NULL;
    if (!labels || !labels[0])
        return SONDE_OK;
    size_t count = count_labels(labels);
    if (count == SIZE_MAX)
        return SONDE_INVALID;
    struct label *list = sort_labels(labels, count);
    char *made = list ? malloc(LABELS_ROOM) : NULL;
    int result = made ? write_labels(made, list, count) : SONDE_FULL;
    if (list)
        free_list(list, count);
    if (result)
        free(made);
    else
        *text = made;
    return result;
}

/* USAGE is either; another type was found where the description alone would have done. */
static int result_of(enum err err, const struct board_description *description)
{
    if (err == OK)
        return SONDE_OK;
    if (err != USAGE)
        return SONDE_FULL;
    return board_describes(description) ? SONDE_OTHER_TYPE : SONDE_INVALID;
}

static int make(uint32_t *place, struct board_description *description, const char *const *labels)
{
    char *text;
    *place = BOARD_NONE;
    int result = make_labels(labels, &text);
    if (result)
        return result;
    description->labels = text;
    result = result_of(board_make(&board, description, place), description);
    free(text);
    return result;
}

EXPORT int sonde_counter_make(struct sonde_counter *counter, const char *name, const char *const *labels, const char *unit,
                              const char *help)
{
    struct board_description description = { .name = name, .unit = unit, .help = help };
    description.kind = BOARD_COUNTER;
    description.type = BOARD_U64;
    return make(&counter->place, &description, labels);
}

EXPORT int sonde_real_counter_make(struct sonde_real_counter *counter, const char *name, const char *const *labels,
                                   const char *unit, const char *help)
{
    struct board_description description = { .name = name, .unit = unit, .help = help };
    description.kind = BOARD_COUNTER;
    description.type = BOARD_F64;
    return make(&counter->place, &description, labels);
}

EXPORT int sonde_gauge_make(struct sonde_gauge *gauge, const char *name, const char *const *labels, const char *unit,
                            const char *help)
{
    struct board_description description = { .name = name, .unit = unit, .help = help };
    description.kind = BOARD_GAUGE;
    description.type = BOARD_F64;
    return make(&gauge->place, &description, labels);
}

static struct bounds **bounds_bucket(const double *values, size_t count)
{
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        hash = (hash ^ bits) * 0x9e3779b97f4a7c15ull;
    }
    return &bounds_known[hash >> 56];
}

/* A copy that stays. NULL: no memory. */
static const double *keep_bounds(const double *values, size_t count)
{
    static const double none = 0;
    if (count == 0)
        return &none;
    struct bounds **bucket = bounds_bucket(values, count), *made = NULL;
    struct bounds *first = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
    for (;;) {
        for (struct bounds *one = first; one; one = one->next)
            if (one->count == count && memcmp(one->values, values, count * sizeof *values) == 0) {
                free(made);
                return one->values;
            }
        if (!made && !(made = malloc(sizeof *made + count * sizeof *values)))
            return NULL;
        made->count = count;
        made->next = first;
        memcpy(made->values, values, count * sizeof *values);
        if (__atomic_compare_exchange_n(bucket, &first, made, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
            return made->values;
    }
}

EXPORT int sonde_histogram_make(struct sonde_histogram *histogram, const char *name, const char *const *labels,
                                const char *unit, const char *help, const double *bounds, size_t count)
{
    struct board_description description = { .name = name, .unit = unit, .help = help, .bounds = bounds, .bound_count = count };
    description.kind = BOARD_HISTOGRAM;
    description.type = BOARD_F64;
    *histogram = (struct sonde_histogram){ 0 };
    if (count > BOARD_BOUNDS_MAX || (count && !bounds))
        return SONDE_INVALID;
    const double *kept = keep_bounds(bounds, count);
    uint32_t place;
    int result = kept ? make(&place, &description, labels) : SONDE_FULL;
    if (!result)
        *histogram = (struct sonde_histogram){ place, (uint32_t)count, kept };
    return result;
}

EXPORT const char *sonde_result_text(int result)
{
    switch (result) {
    case SONDE_OK:
        return "made";
    case SONDE_FULL:
        return "no room: it counts nowhere";
    case SONDE_OTHER_TYPE:
        return "the name is of a metric of another type";
    case SONDE_INVALID:
        return "not a description of a metric";
    default:
        return "not a result of libsonde";
    }
}

EXPORT void sonde_rank(int rank, int size)
{
    board_set_rank(&board, rank, size);
}

EXPORT uint64_t *sonde_inside_slots(uint32_t place)
{
    return board_slots_slow(&board, place);
}

EXPORT void sonde_inside_interrupting(uint64_t *slot, double value)
{
    board_add_f64_interrupting(slot, value);
}

EXPORT void sonde_gauge_add(const struct sonde_gauge *gauge, double value)
{
    if (value == value)
        board_gauge_add(board_slots(&board, gauge->place), value);
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
    uint64_t *slots = board_slots(&board, histogram->place);
    board_add_u64(slots + bucket_of(histogram, value), 1);
    board_add_f64(slots + histogram->count + 1, value);
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
