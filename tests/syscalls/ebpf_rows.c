/* Rows counted per CPU become samples: names, sums, unknown values. Needs no kernel. */
#include "syscalls/ebpf_rows.h"

#include "model/program_sets.h"
#include "syscalls/syscall_names.h"
#include "tools/unit.h"

#include <sys/syscall.h>

#define CPUS 3

static struct ebpf_rows rows;
static struct ebpf_block blocks[CPUS];
static struct ebpf_time_block times[CPUS];
static uint64_t systems[EBPF_FILE_SYSTEMS];
static struct ebpf_memory memory = { .systems = systems, .cpu_count = CPUS };
static struct batch batch;

static int setup(void **state)
{
    (void)state;
    memset(blocks, 0, sizeof blocks);
    memset(times, 0, sizeof times);
    memset(systems, 0, sizeof systems);
    ebpf_rows_init(&rows);
    batch_init(&batch);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    batch_clear(&batch);
    return 0;
}

static size_t row_of(long number, uint32_t class)
{
    uint8_t result = rows.constants.results[number];
    assert_true(result >= EBPF_RESULT_BYTES_BY_CLASS);
    return EBPF_CALLS + (size_t)(result - EBPF_RESULT_BYTES_BY_CLASS) * EBPF_CLASSES + class;
}

static const struct sample *find(const struct set *set, const char *instance)
{
    for (size_t i = 0; i < batch.count; i++)
        if (batch.samples[i].set == set && !strcmp(batch.samples[i].instance, instance))
            return &batch.samples[i];
    return NULL;
}

static void cpus_and_classes_are_added_up(void **state)
{
    (void)state;
    struct ebpf_job_memory job = { 1, blocks, NULL };
    systems[3] = 0xef53;
    blocks[0].rows[row_of(SYS_read, 12)] = (struct ebpf_row){ 10, 1, 1000, 0 };
    blocks[2].rows[row_of(SYS_read, 12)] = (struct ebpf_row){ 5, 0, 500, 0 };
    blocks[1].rows[row_of(SYS_read, EBPF_CLASS_FILE_SYSTEM + 3)] = (struct ebpf_row){ 2, 0, 64, 0 };
    blocks[1].rows[SYS_read] = (struct ebpf_row){ 4, 4, 0, 0 }; /* of invalid descriptors */
    blocks[1].rows[SYS_getppid] = (struct ebpf_row){ 7, 0, 0, 0 };
    blocks[1].rows[SYS_rt_sigreturn] = (struct ebpf_row){ 6, 5, 0, 0 };
    assert_int_equal(ebpf_rows_sample(&rows, &memory, &job, "4711", NULL, &batch), OK);
    assert_int_equal(batch.count, 5);
    assert_int_equal(find(&syscall_set, "rt_sigreturn")->values[SYSCALL_CALLS].u64, 6);
    assert_int_equal(find(&syscall_set, "rt_sigreturn")->values[SYSCALL_ERRORS].u64, 0);
    const struct sample *read = find(&syscall_set, "read"), *socket = find(&syscall_set, "read/socket");
    assert_int_equal(read->values[SYSCALL_CALLS].u64, 21);
    assert_int_equal(read->values[SYSCALL_ERRORS].u64, 5);
    assert_int_equal(read->values[SYSCALL_BYTES].u64, 1564);
    assert_false(read->known[SYSCALL_TIME]);
    assert_string_equal(read->job, "4711");
    assert_int_equal(socket->values[SYSCALL_CALLS].u64, 15);
    assert_int_equal(socket->values[SYSCALL_BYTES].u64, 1500);
    assert_int_equal(find(&syscall_set, "read/file:ext4")->values[SYSCALL_BYTES].u64, 64);
    assert_false(find(&syscall_set, "getppid")->known[SYSCALL_BYTES]);
}

static void times_have_buckets(void **state)
{
    (void)state;
    struct ebpf_job_memory job = { 1, blocks, times };
    times[0].rows[SYS_getppid] = (struct ebpf_row){ 2, 0, 0, 300 };
    blocks[1].rows[SYS_getppid] = (struct ebpf_row){ 1, 0, 0, 0 }; /* from before times were requested */
    times[0].times[SYS_getppid].count[0] = 2;
    times[2].times[SYS_getppid].count[0] = 1;
    times[2].times[SYS_getppid].count[EBPF_BUCKETS - 1] = 9;
    assert_int_equal(ebpf_rows_sample(&rows, &memory, &job, NULL, NULL, &batch), OK);
    assert_int_equal(batch.count, 2);
    assert_int_equal(find(&syscall_set, "getppid")->values[SYSCALL_CALLS].u64, 3);
    assert_int_equal(find(&syscall_set, "getppid")->values[SYSCALL_TIME].u64, 300);
    const struct sample *sample = find(&syscall_time_set, "getppid");
    assert_int_equal(sample->values[0].u64, 3);
    assert_int_equal(sample->values[SYSCALL_BUCKETS - 1].u64, 9);
    assert_null(sample->job);
}

/* Another process may have counted the same job before, and less than our first reading. */
static void a_new_row_starts_with_zeros(void **state)
{
    (void)state;
    struct ebpf_job_memory job = { 1, blocks, times };
    struct ebpf_rows_reported reported = { .begun_ns = 77 };
    blocks[0].rows[SYS_getppid] = (struct ebpf_row){ 2, 1, 0, 300 };
    times[0].times[SYS_getppid].count[3] = 2;
    assert_int_equal(ebpf_rows_sample(&rows, &memory, &job, "4711", &reported, &batch), OK);
    assert_int_equal(batch.count, 4);
    for (size_t i = 0; i < 2; i++) { /* calls, then times */
        assert_int_equal(batch.samples[i].time_ns, 77);
        assert_string_equal(batch.samples[i].job, "4711");
        assert_true(batch.samples[i + 2].time_ns > 77);
    }
    assert_int_equal(batch.samples[0].values[SYSCALL_CALLS].u64, 0);
    assert_int_equal(batch.samples[0].values[SYSCALL_TIME].u64, 0);
    assert_true(batch.samples[0].known[SYSCALL_TIME]);
    assert_int_equal(batch.samples[1].values[3].u64, 0);
    assert_int_equal(batch.samples[2].values[SYSCALL_CALLS].u64, 2);
    assert_int_equal(batch.samples[3].values[3].u64, 2);
    batch_reset(&batch);
    blocks[1].rows[SYS_getpid] = (struct ebpf_row){ 5, 0, 0, 0 };
    assert_int_equal(ebpf_rows_sample(&rows, &memory, &job, "4711", &reported, &batch), OK);
    assert_int_equal(batch.count, 6);
    assert_int_equal(find(&syscall_set, "getppid")->values[SYSCALL_CALLS].u64, 2);
    assert_int_equal(find(&syscall_set, "getpid")->values[SYSCALL_CALLS].u64, 0);
}

static void classes_have_names(void **state)
{
    (void)state;
    systems[0] = 0x0bd00bd0;
    systems[1] = 0xabcdef;
    systems[2] = 0x09041934;
    assert_string_equal(ebpf_rows_name(&rows, row_of(SYS_write, EBPF_CLASS_FILE_SYSTEM), systems), "write/file:lustre");
    assert_string_equal(ebpf_rows_name(&rows, row_of(SYS_write, EBPF_CLASS_FILE_SYSTEM + 1), systems),
                        "write/file:0xabcdef");
    assert_string_equal(ebpf_rows_name(&rows, row_of(SYS_write, EBPF_CLASS_FILE_SYSTEM + 2), systems),
                        "write/anonymous");
    assert_string_equal(ebpf_rows_name(&rows, row_of(SYS_sendto, 12), systems), "sendto/socket");
    assert_string_equal(ebpf_rows_name(&rows, row_of(SYS_readv, 1), systems), "readv/pipe");
    assert_string_equal(ebpf_rows_name(&rows, row_of(SYS_writev, 2), systems), "writev/device");
    assert_string_equal(ebpf_rows_name(&rows, row_of(SYS_read, 8), systems), "read/file");
    assert_string_equal(ebpf_rows_name(&rows, SYS_openat, systems), "openat");
    assert_string_equal(ebpf_rows_name(&rows, EBPF_CALL_OTHER, systems), "other");
    assert_string_equal(ebpf_rows_name(&rows, EBPF_CALL_OTHER - 1, systems), "syscall_510");
}

static void results_of_calls_are_classified(void **state)
{
    (void)state;
    const struct ebpf_constants *constants = &rows.constants;
    assert_int_equal(constants->results[SYS_openat], EBPF_RESULT_OTHER);
    assert_int_equal(constants->results[SYS_process_vm_readv], EBPF_RESULT_BYTES);
    assert_true(constants->results[SYS_pread64] >= EBPF_RESULT_BYTES_BY_CLASS);
    assert_true(constants->results[SYS_pread64] != constants->results[SYS_read]);
    assert_true(rows.group_count <= EBPF_CLASS_GROUPS);
    for (unsigned i = 0; i < EBPF_CALLS; i++) { /* each call that returns bytes has a group, except those without a
                                                 * descriptor */
        const char *name = syscall_names_find(i);
        assert_true(constants->results[i] != EBPF_RESULT_BYTES || !strncmp(name, "process_vm_", 11));
        assert_true(constants->numbers_32[i] < EBPF_CALLS);
    }
    assert_int_equal(constants->exit_numbers[0], SYS_exit);
    assert_int_equal(constants->exit_numbers[1], SYS_exit_group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cpus_and_classes_are_added_up, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_row_starts_with_zeros, setup, teardown),
        cmocka_unit_test_setup_teardown(times_have_buckets, setup, teardown),
        cmocka_unit_test_setup_teardown(classes_have_names, setup, teardown),
        cmocka_unit_test_setup_teardown(results_of_calls_are_classified, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
