/* System calls that the kernel counted beyond those in libc. */
#include "merge/other_syscalls.h"

#include "model/program_sets.h"
#include "tools/unit.h"

#define SERIES 3

struct fixture {
    uint64_t times_ns[SERIES];
    union value values[SERIES][SYSCALL_SIZE];
    uint8_t known[SERIES][SYSCALL_SIZE];
    struct run_series series[SERIES];
    struct process processes[2]; /* the second one is used by some tests only */
    struct run run;
};

static void set_series(struct fixture *fixture, int place, const struct set *set, const char *instance, uint64_t first,
                       uint64_t bytes)
{
    fixture->values[place][0].u64 = first;
    fixture->known[place][0] = 1;
    if (set == &syscall_set) {
        fixture->values[place][SYSCALL_BYTES].u64 = bytes;
        fixture->known[place][SYSCALL_BYTES] = 1;
    }
    fixture->series[place] = (struct run_series){
        .set = *set, .instance = instance, .count = 1, .times_ns = &fixture->times_ns[place],
        .values = fixture->values[place], .known = fixture->known[place],
    };
}

/* libc counted 10 reads of 100 bytes and 3 writes of 5 bytes; the kernel counted 12 of 130 and 3 of 5. */
static void make(struct fixture *fixture, enum syscall_way way)
{
    *fixture = (struct fixture){ .run = { .end_ns = 42, .process_count = 1, .series_count = SERIES } };
    set_series(fixture, 0, &syscall_way_set, "", way, 0);
    set_series(fixture, 1, &syscall_set, "read", 10, 100);
    set_series(fixture, 2, &syscall_set, "write", 3, 5);
    counters_set(&fixture->processes[0].counters, COUNTER_syscr, 12);
    counters_set(&fixture->processes[0].counters, COUNTER_rchar, 130);
    counters_set(&fixture->processes[0].counters, COUNTER_syscw, 3);
    counters_set(&fixture->processes[0].counters, COUNTER_wchar, 5);
    fixture->run.processes = fixture->processes;
    fixture->run.series = fixture->series;
}

static void difference_is_added_if_there_is_one(void **state)
{
    struct arena arena;
    struct fixture fixture;
    (void)state;
    arena_init(&arena);
    make(&fixture, SYSCALL_WAY_LIBC);
    assert_int_equal(other_syscalls_add(&fixture.run, &arena), OK);
    assert_int_equal(fixture.run.series_count, SERIES + 1);
    const struct run_series *other = &fixture.run.series[SERIES];
    assert_string_equal(other->instance, "read/other");
    assert_int_equal(other->values[SYSCALL_CALLS].u64, 2);
    assert_int_equal(other->values[SYSCALL_BYTES].u64, 30);
    assert_int_equal(other->known[SYSCALL_TIME], 0);
    assert_int_equal(other->times_ns[0], 42);
    arena_clear(&arena);
}

static void kernel_counts_are_complete(void **state)
{
    struct arena arena;
    struct fixture fixture;
    (void)state;
    arena_init(&arena);
    make(&fixture, SYSCALL_WAY_KERNEL);
    assert_int_equal(other_syscalls_add(&fixture.run, &arena), OK);
    assert_int_equal(fixture.run.series_count, SERIES);
    arena_clear(&arena);
}

static void unknown_counters_add_nothing(void **state)
{
    struct arena arena;
    struct fixture fixture;
    (void)state;
    arena_init(&arena);
    make(&fixture, SYSCALL_WAY_LIBC);
    fixture.processes[0].counters.known = 0;
    assert_int_equal(other_syscalls_add(&fixture.run, &arena), OK);
    assert_int_equal(fixture.run.series_count, SERIES);
    arena_clear(&arena);
}

/* With a second process. Returns read/other, NULL if there is none. */
static const struct run_series *reads_beside(struct fixture *fixture, struct arena *arena, struct process second)
{
    make(fixture, SYSCALL_WAY_LIBC);
    fixture->processes[1] = second;
    fixture->run.process_count = 2;
    assert_int_equal(other_syscalls_add(&fixture->run, arena), OK);
    for (size_t i = SERIES; i < fixture->run.series_count; i++)
        if (strcmp(fixture->run.series[i].instance, "read/other") == 0)
            return &fixture->run.series[i];
    return NULL;
}

static void unknown_calls_of_one_process_make_the_sum_unknown(void **state)
{
    struct arena arena;
    struct fixture fixture;
    struct process of_bytes = { 0 }, killed = { .sources = SEEN_PROBE }, outside = { 0 };
    const struct run_series *other;
    (void)state;
    arena_init(&arena);
    counters_set(&of_bytes.counters, COUNTER_rchar, 500);
    other = reads_beside(&fixture, &arena, of_bytes);
    assert_non_null(other);
    assert_false(other->known[SYSCALL_CALLS]);
    assert_true(other->known[SYSCALL_BYTES]);
    assert_int_equal(other->values[SYSCALL_BYTES].u64, 530);
    assert_null(reads_beside(&fixture, &arena, killed));
    other = reads_beside(&fixture, &arena, outside);
    assert_non_null(other);
    assert_true(other->known[SYSCALL_CALLS] && other->values[SYSCALL_CALLS].u64 == 2);
    arena_clear(&arena);
}

/* One read on a closed descriptor: libc's function is called, but the kernel does not count it. */
static void fewer_calls_than_in_libc_are_unknown(void **state)
{
    struct arena arena;
    struct fixture fixture;
    (void)state;
    arena_init(&arena);
    make(&fixture, SYSCALL_WAY_LIBC);
    counters_set(&fixture.processes[0].counters, COUNTER_syscr, 9);
    assert_int_equal(other_syscalls_add(&fixture.run, &arena), OK);
    assert_int_equal(fixture.run.series_count, SERIES + 1);
    assert_false(fixture.run.series[SERIES].known[SYSCALL_CALLS]);
    assert_int_equal(fixture.run.series[SERIES].values[SYSCALL_BYTES].u64, 30);
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(difference_is_added_if_there_is_one),
        cmocka_unit_test(kernel_counts_are_complete),
        cmocka_unit_test(unknown_counters_add_nothing),
        cmocka_unit_test(unknown_calls_of_one_process_make_the_sum_unknown),
        cmocka_unit_test(fewer_calls_than_in_libc_are_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
