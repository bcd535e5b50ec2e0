/* The commit record: two copies, of which one is always valid. */
#include "sinks/hdf5/record.h"

#include "tools/unit.h"

static uint8_t bytes[2][128];
static const size_t size = sizeof bytes[0];

static void put(size_t place, uint64_t generation, uint64_t position, uint64_t rows)
{
    const struct hdf5_record record = { generation, position, 2, (uint64_t[]){ rows, rows + 1 } };
    hdf5_record_write(&record, bytes[place], size);
}

static void the_newer_copy_is_used(void **state)
{
    (void)state;
    struct hdf5_record record;
    put(0, 6, 60, 10);
    put(1, 7, 70, 20);
    assert_int_equal(hdf5_record_read(&record, bytes[0], sizeof bytes), OK);
    assert_int_equal(record.position, 70);
    assert_int_equal(record.count, 2);
    assert_int_equal(record.rows[1], 21);
    hdf5_record_clear(&record);
    put(0, 8, 80, 30);
    assert_int_equal(hdf5_record_read(&record, bytes[0], sizeof bytes), OK);
    assert_int_equal(record.position, 80);
    hdf5_record_clear(&record);
}

static void a_partly_written_copy_is_ignored(void **state)
{
    (void)state;
    struct hdf5_record record;
    for (size_t i = 0; i < 7 * 8; i++) {
        put(0, 6, 60, 10);
        put(1, 7, 70, 20);
        bytes[1][i] ^= 0x40;
        assert_int_equal(hdf5_record_read(&record, bytes[0], sizeof bytes), OK);
        assert_int_equal(record.position, 60);
        hdf5_record_clear(&record);
    }
    memset(bytes[0], 0, size);
    assert_int_equal(hdf5_record_read(&record, bytes[0], sizeof bytes), CORRUPT);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(hdf5_record_read(&record, bytes[0], sizeof bytes), CORRUPT);
    assert_int_equal(hdf5_record_read(&record, bytes[0], 16), CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newer_copy_is_used),
        cmocka_unit_test(a_partly_written_copy_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
