/* A series blob of arbitrary bytes: refused, or decoded within its bounds to something that round-trips. */
#include "store/series_codec.h"

#include <stdlib.h>
#include <string.h>

int fuzz_series(const uint8_t *data, size_t size);

#define VALUES_MAX (1u << 20)

static void require(int holds)
{
    if (!holds)
        abort();
}

struct arrays {
    uint64_t *times_ns;
    union value *values;
    uint8_t *known;
};

/* Exactly as large as needed, so that a sanitizer detects an overrun by one byte. */
static struct arrays make(size_t rows, size_t columns)
{
    return (struct arrays){
        .times_ns = malloc(rows * sizeof(uint64_t)),
        .values = malloc(rows * columns * sizeof(union value)),
        .known = malloc(rows * columns),
    };
}

static void clear(struct arrays *arrays)
{
    free(arrays->times_ns);
    free(arrays->values);
    free(arrays->known);
}

static void check_again(const struct arrays *first, size_t rows, size_t columns)
{
    struct metric *metrics = calloc(columns + 1, sizeof *metrics);
    struct arrays again = make(rows, columns);
    struct buf data;
    for (size_t i = 0; i < columns; i++)
        metrics[i].type = i % 2 ? F64 : U64;
    struct run_series series = { .set = { "fuzz", metrics, columns }, .count = rows, .times_ns = first->times_ns,
                                 .values = first->values, .known = first->known };
    buf_init(&data, SIZE_MAX / 2);
    require(series_encode(&data, &series, 0, rows) == OK);
    require(series_decode((struct bytes){ data.data, data.size }, again.times_ns, again.values, again.known) == OK);
    if (rows) {
        require(memcmp(first->times_ns, again.times_ns, rows * sizeof(uint64_t)) == 0);
        require(memcmp(first->known, again.known, rows * columns) == 0);
        require(memcmp(first->values, again.values, rows * columns * sizeof(union value)) == 0);
    }
    buf_clear(&data);
    clear(&again);
    free(metrics);
}

int fuzz_series(const uint8_t *data, size_t size)
{
    struct bytes bytes = { (const char *)data, size };
    size_t rows, columns;
    if (series_measure(bytes, &rows, &columns) != OK || rows * columns > VALUES_MAX)
        return 0;
    struct arrays arrays = make(rows, columns);
    if (series_decode(bytes, arrays.times_ns, arrays.values, arrays.known) == OK)
        check_again(&arrays, rows, columns);
    clear(&arrays);
    return 0;
}
