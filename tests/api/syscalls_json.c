/* System-call counts to JSON and back, and invalid JSON. */
#include "api/syscalls_json.h"

#include "model/program_sets.h"
#include "tools/unit.h"

static struct batch in, out;
static struct buf text;

static int setup(void **state)
{
    (void)state;
    batch_init(&in);
    batch_init(&out);
    buf_init(&text, 1 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    batch_clear(&in);
    batch_clear(&out);
    buf_clear(&text);
    return 0;
}

static bool read_text(const char *json)
{
    struct json_read read;
    batch_reset(&out);
    json_read_init(&read, json, strlen(json));
    return syscalls_json_read(&read, 5, &out) && json_read_end(&read);
}

static void samples_survive_a_round_trip(void **state)
{
    (void)state;
    struct json json;
    struct sample *sample = batch_add(&in, &syscall_set, 1, "read/file:ext4");
    sample_set_u64(sample, SYSCALL_CALLS, 7);
    sample_set_u64(sample, SYSCALL_BYTES, UINT64_MAX);
    sample = batch_add(&in, &syscall_time_set, 1, "read");
    for (size_t i = 0; i < SYSCALL_BUCKETS; i++)
        sample_set_u64(sample, i, i * i);
    json_init(&json, &text);
    syscalls_json_write(&json, &in);
    json_end(&json);
    assert_true(read_text(buf_text(&text)));
    assert_int_equal(out.count, 2);
    assert_ptr_equal(out.samples[0].set, &syscall_set);
    assert_string_equal(out.samples[0].instance, "read/file:ext4");
    assert_int_equal(out.samples[0].time_ns, 5);
    assert_int_equal(out.samples[0].values[SYSCALL_CALLS].u64, 7);
    assert_true(out.samples[0].values[SYSCALL_BYTES].u64 == UINT64_MAX);
    assert_false(out.samples[0].known[SYSCALL_ERRORS]);
    assert_false(out.samples[0].known[SYSCALL_TIME]);
    assert_int_equal(out.samples[1].values[SYSCALL_BUCKETS - 1].u64, (SYSCALL_BUCKETS - 1) * (SYSCALL_BUCKETS - 1));
}

static void unknown_fields_are_skipped(void **state)
{
    (void)state;
    assert_true(read_text("[{\"set\": \"other\", \"instance\": \"x\", \"values\": [1]}, {\"new\": {}}]"));
    assert_int_equal(out.count, 0);
    assert_true(read_text("[{\"set\": \"syscall\", \"instance\": \"x\", \"values\": [1, 2]}]")); /* too few values */
    assert_int_equal(out.count, 0);
    assert_true(read_text("[{\"set\": \"syscall\", \"instance\": \"x\", \"values\": [1, 2, null, 4, 5]}]"));
    assert_int_equal(out.count, 0);
    assert_true(read_text("[{\"set\": \"syscall\", \"values\": [1, 2, 3, 4]}]"));
    assert_int_equal(out.count, 0);
}

static void other_json_is_rejected(void **state)
{
    (void)state;
    assert_false(read_text("{}"));
    assert_false(read_text("[7]"));
    assert_false(read_text("[{\"set\": 1}]"));
    assert_false(read_text("[{\"values\": [-1]}]"));
    assert_false(read_text("[{\"values\": [[]]}]"));
    assert_false(read_text("["));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(samples_survive_a_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(unknown_fields_are_skipped, setup, teardown),
        cmocka_unit_test_setup_teardown(other_json_is_rejected, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
