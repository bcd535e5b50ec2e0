/* Files with one number. */
#include "proc/number.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <unistd.h>

static void unsigned_numbers(void **state)
{
    (void)state;
    static const struct { const char *text; enum err err; uint64_t value; } cases[] = {
        { "0\n", OK, 0 }, { "42", OK, 42 }, { " 42 \n", OK, 42 }, { "18446744073709551615\n", OK, UINT64_MAX },
        { "18446744073709551616\n", CORRUPT, 0 }, { "", CORRUPT, 0 }, { "\n", CORRUPT, 0 }, { "-1\n", CORRUPT, 0 },
        { "12x\n", CORRUPT, 0 }, { "1 2\n", CORRUPT, 0 }, { "N/A (no PMA)\n", CORRUPT, 0 }, { "0x10\n", CORRUPT, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t value = 0;
        assert_int_equal(number_parse_u64(cases[i].text, &value), cases[i].err);
        assert_true(value == cases[i].value);
    }
}

static void signed_numbers(void **state)
{
    (void)state;
    static const struct { const char *text; enum err err; int64_t value; } cases[] = {
        { "41000\n", OK, 41000 }, { "-1850\n", OK, -1850 }, { " -1\n", OK, -1 }, { "-0\n", OK, 0 },
        { "9223372036854775807\n", OK, INT64_MAX }, { "9223372036854775808\n", CORRUPT, 0 }, { "-\n", CORRUPT, 0 },
        { "- 5\n", CORRUPT, 0 }, { "--5\n", CORRUPT, 0 }, { "", CORRUPT, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = 0;
        assert_int_equal(number_parse_i64(cases[i].text, &value), cases[i].err);
        assert_true(value == cases[i].value);
    }
}

static void an_open_file_is_read_again(void **state)
{
    (void)state;
    char directory[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    uint64_t value;
    temp_dir(directory);
    temp_join(path, directory, "n");
    temp_write(path, "7\n", 2);
    int fd = open(path, O_RDONLY);
    assert_int_equal(number_read_u64(fd, &value), OK);
    assert_int_equal(value, 7);
    temp_write(path, "8888\n", 5);
    assert_int_equal(number_read_u64(fd, &value), OK);
    assert_int_equal(value, 8888);
    close(fd);
    assert_int_equal(number_file_u64(directory, "/n", &value), OK);
    assert_int_equal(number_file_u64(directory, "/none", &value), ABSENT);
    assert_int_equal(value, 8888);
    temp_remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unsigned_numbers),
        cmocka_unit_test(signed_numbers),
        cmocka_unit_test(an_open_file_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
