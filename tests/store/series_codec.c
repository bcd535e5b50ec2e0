/* Series become few bytes and round-trip exactly; other bytes are refused. */
#include "store/series_codec.h"

#include "tools/unit.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROWS 5000
#define COLUMNS 6

static const struct metric metrics[COLUMNS] = {
    { "counter", "1", COUNTER, U64, "" }, { "level", "B", GAUGE, U64, "" }, { "signed", "1", GAUGE, I64, "" },
    { "load", "1", GAUGE, F64, "" },      { "odd", "1", GAUGE, F64, "" },   { "none", "1", GAUGE, U64, "" },
};

struct rows {
    uint64_t times_ns[ROWS];
    union value values[ROWS * COLUMNS];
    uint8_t known[ROWS * COLUMNS];
};

static void fill(struct rows *rows)
{
    static const double odd[] = { NAN, INFINITY, -0.0, 1e300, 0.1 + 0.2, 5e-324, -3.5 };
    memset(rows, 0, sizeof *rows);
    for (size_t row = 0; row < ROWS; row++) {
        union value *values = rows->values + row * COLUMNS;
        uint8_t *known = rows->known + row * COLUMNS;
        rows->times_ns[row] = 1700000000000000000ull + row * 1000000000 + row * 7919 % 30011;
        values[0].u64 = row * 12345;
        values[1].u64 = row % 3 ? UINT64_MAX - row : 0;
        values[2].i64 = -(int64_t)row * 100 + 7;
        values[3].f64 = (double)(row % 57) / 100;
        values[4].f64 = odd[row % (sizeof odd / sizeof odd[0])];
        for (size_t column = 0; column < 5; column++)
            known[column] = column != 1 || row % 7 != 2;
        if (!known[1])
            values[1].u64 = 0;
    }
}

static struct run_series series_of(struct rows *rows)
{
    return (struct run_series){ { "some", metrics, COLUMNS }, "", ROWS, rows->times_ns, rows->values, rows->known };
}

static void assert_comes_back(struct rows *rows, size_t first, size_t count)
{
    static struct rows back;
    struct run_series series = series_of(rows);
    struct buf data;
    size_t got_rows, got_columns;
    buf_init(&data, 1 << 24);
    memset(&back, 0xee, sizeof back);
    assert_int_equal(series_encode(&data, &series, first, count), OK);
    struct bytes bytes = { data.data, data.size };
    assert_int_equal(series_measure(bytes, &got_rows, &got_columns), OK);
    assert_int_equal(got_rows, count);
    assert_int_equal(got_columns, COLUMNS);
    assert_int_equal(series_decode(bytes, back.times_ns, back.values, back.known), OK);
    assert_memory_equal(back.times_ns, rows->times_ns + first, count * sizeof back.times_ns[0]);
    assert_memory_equal(back.known, rows->known + first * COLUMNS, count * COLUMNS);
    assert_memory_equal(back.values, rows->values + first * COLUMNS, count * COLUMNS * sizeof back.values[0]);
    buf_clear(&data);
}

static void every_bit_round_trips(void **state)
{
    (void)state;
    static struct rows rows;
    fill(&rows);
    assert_comes_back(&rows, 0, ROWS);
    assert_comes_back(&rows, 4090, 900);
    assert_comes_back(&rows, 0, 1);
    assert_comes_back(&rows, 3, 2);
    assert_comes_back(&rows, 17, 9);
}

static void a_steady_series_takes_few_bytes(void **state)
{
    (void)state;
    static struct rows rows;
    struct run_series series = series_of(&rows);
    struct buf data;
    fill(&rows);
    for (size_t i = 0; i < ROWS; i++) {
        rows.values[i * COLUMNS + 1].u64 = 4096 * (100 + i % 2);
        rows.values[i * COLUMNS + 4].f64 = 0.25;
        rows.known[i * COLUMNS + 1] = 1;
        rows.times_ns[i] = i * 1000000000;
    }
    buf_init(&data, 1 << 24);
    assert_int_equal(series_encode(&data, &series, 0, 3600), OK);
    assert_in_range(data.size, 1, 3600); /* six columns and the time: 56 bytes per row uncompressed */
    buf_clear(&data);
}

static void damaged_bytes_are_refused(void **state)
{
    (void)state;
    static struct rows rows, back;
    struct run_series series = series_of(&rows);
    struct buf data;
    fill(&rows);
    buf_init(&data, 1 << 24);
    assert_int_equal(series_encode(&data, &series, 0, 20), OK);
    for (size_t size = 0; size < data.size; size++)
        assert_int_equal(series_decode((struct bytes){ data.data, size }, back.times_ns, back.values, back.known), CORRUPT);
    buf_add_char(&data, 0);
    assert_int_equal(series_decode((struct bytes){ data.data, data.size }, back.times_ns, back.values, back.known), CORRUPT);
    data.data[0] = 9;
    assert_int_equal(series_decode((struct bytes){ data.data, data.size }, back.times_ns, back.values, back.known), CORRUPT);
    size_t got_rows, got_columns;
    assert_int_equal(series_measure((struct bytes){ "\x01\xff\xff\xff\x7f\x01", 6 }, &got_rows, &got_columns), CORRUPT);
    assert_int_equal(series_measure((struct bytes){ "\x01\x01\xff\xff\x7f\x01", 6 }, &got_rows, &got_columns), CORRUPT);
    buf_clear(&data);
}

/* One column, known in every third row; not compressed. */
static void encode_short(struct buf *data, size_t count)
{
    static struct rows rows;
    struct run_series series = { { "some", metrics, 1 }, "", count, rows.times_ns, rows.values, rows.known };
    for (size_t row = 0; row < count; row++) {
        rows.times_ns[row] = row;
        rows.values[row].u64 = row;
        rows.known[row] = row % 3 == 2;
    }
    buf_init(data, 1 << 24);
    assert_int_equal(series_encode(data, &series, 0, count), OK);
    assert_int_equal(data->data[0], 1); /* plain */
}

/* A prefix ends where memory ends: nothing after it is read. */
static void decoding_stops_at_the_end(void **state)
{
    (void)state;
    static struct rows back;
    struct buf data;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    encode_short(&data, 40);
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED && mprotect(memory + page, page, PROT_NONE) == 0);
    for (size_t size = 0; size < data.size; size++) {
        char *start = memory + page - size;
        memcpy(start, data.data, size);
        assert_int_equal(series_decode((struct bytes){ start, size }, back.times_ns, back.values, back.known), CORRUPT);
    }
    munmap(memory, 2 * page);
    buf_clear(&data);
}

/* Two bits say which values are known; one of the four codes is not used. */
static void unused_codes_are_refused(void **state)
{
    (void)state;
    static struct rows back;
    struct buf data;
    encode_short(&data, 1); /* the value is unknown: the code is in the last byte */
    assert_int_equal(series_decode((struct bytes){ data.data, data.size }, back.times_ns, back.values, back.known), OK);
    data.data[data.size - 1] |= 3;
    assert_int_equal(series_decode((struct bytes){ data.data, data.size }, back.times_ns, back.values, back.known), CORRUPT);
    buf_clear(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bit_round_trips),
        cmocka_unit_test(a_steady_series_takes_few_bytes),
        cmocka_unit_test(damaged_bytes_are_refused),
        cmocka_unit_test(decoding_stops_at_the_end),
        cmocka_unit_test(unused_codes_are_refused),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
