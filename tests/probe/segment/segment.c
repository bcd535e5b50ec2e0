/* What a program writes to its segment is what is read from it: round trip, threads and forks. Each test runs in a
 * child of its own, since a process has one segment. */
#include "probe/segment/segment.h"
#include "appmetrics/segment_reader.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static struct segment segment;
static char work_dir[TEMP_PATH_MAX];

static int set_up(void **state)
{
    (void)state;
    temp_dir(work_dir);
    return setenv(SEGMENT_ENV_DIR, work_dir, 1);
}

static int tear_down(void **state)
{
    (void)state;
    temp_remove(work_dir);
    return 0;
}

/* Runs it in a child and returns its wait status. */
static int in_child(void (*act)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        segment_open(&segment, "test");
        act();
        segment_end(&segment);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* The segment of this pid in the directory, or the only one for 0. */
static struct segment_reader *read_segment(pid_t pid)
{
    DIR *dir = opendir(work_dir);
    struct segment_reader *found = NULL;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[TEMP_PATH_MAX];
        struct segment_reader *reader;
        temp_join(path, work_dir, entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        assert_int_equal(segment_reader_open(&reader, path), OK);
        assert_int_equal(segment_reader_read(reader), OK);
        if (pid && segment_reader_info(reader)->pid != pid)
            segment_reader_close(&reader);
        else {
            assert_null(found);
            found = reader;
        }
    }
    closedir(dir);
    assert_non_null(found);
    return found;
}

static struct segment_value value_of(const struct segment_reader *reader, const char *name, const char *labels)
{
    struct segment_value value;
    for (size_t i = 0; i < segment_reader_count(reader); i++) {
        segment_reader_value(reader, i, &value);
        if (bytes_equal(value.name, bytes_of(name)) && bytes_equal(value.labels, bytes_of(labels)))
            return value;
    }
    fail_msg("no metric %s{%s}", name, labels);
    return value;
}

static const double bounds[] = { 1, 10, 100 };

static uint32_t plain(const char *name, enum segment_metric_kind kind, enum segment_value_type type)
{
    return segment_metric(&segment, &(struct segment_description){ .name = name, .kind = kind, .type = type });
}

static uint32_t counter(const char *name, const char *labels)
{
    return segment_metric(&segment, &(struct segment_description){ .name = name, .labels = labels, .kind = SEGMENT_COUNTER,
                                                             .type = SEGMENT_U64, .unit = "bytes", .help = "Help." });
}

static void act_everything(void)
{
    uint32_t cells = counter("cells_total", "phase=\"solve\"");
    uint32_t again = counter("cells_total", "phase=\"solve\"");
    uint32_t other = counter("cells_total", "phase=\"read\"");
    uint32_t real = plain("joules", SEGMENT_COUNTER, SEGMENT_F64);
    uint32_t time = plain("time", SEGMENT_COUNTER, SEGMENT_TICKS);
    uint32_t gauge = plain("load", SEGMENT_GAUGE, SEGMENT_F64);
    plain("unset", SEGMENT_GAUGE, SEGMENT_F64);
    uint32_t sizes = segment_metric(&segment, &(struct segment_description){ .name = "sizes", .kind = SEGMENT_HISTOGRAM,
                                                                       .type = SEGMENT_F64, .bounds = bounds, .bound_count = 3 });
    if (cells != again || cells == other)
        _exit(1);
    segment_add_u64(segment_slots(&segment, cells), 40);
    segment_add_u64(segment_slots(&segment, again), 2);
    segment_add_u64(segment_slots(&segment, other), 1ull << 60);
    segment_add_f64(segment_slots(&segment, real), 0.25);
    segment_add_f64(segment_slots(&segment, real), 0.5);
    uint64_t begin = segment_ticks();
    usleep(20000);
    segment_add_u64(segment_slots(&segment, time), segment_ticks() - begin);
    segment_gauge_set(segment_slots(&segment, gauge), -3);
    segment_gauge_add(segment_slots(&segment, gauge), 1);
    segment_add_u64(segment_slots(&segment, sizes) + 1, 7);
    segment_add_u64(segment_slots(&segment, sizes) + 3, 1);
    segment_add_f64(segment_slots(&segment, sizes) + 4, 170.5);
    segment_set_rank(&segment, 3, 8);
}

static void test_round_trip(void **state)
{
    (void)state;
    setenv("SLURM_JOB_ID", "4711", 1);
    assert_int_equal(in_child(act_everything), 0);
    struct segment_reader *reader = read_segment(0);
    const struct segment_info *facts = segment_reader_info(reader);
    assert_int_equal(facts->uid, geteuid());
    assert_string_equal(facts->library, "test");
    assert_string_equal(facts->job, "4711");
    assert_int_equal(facts->rank, 3);
    assert_int_equal(facts->size, 8);
    assert_true(facts->is_ended);
    assert_true(facts->start_ticks > 0);
    assert_true(segment_reader_is_finished(reader, ""));
    assert_int_equal(segment_reader_count(reader), 7);
    struct segment_value value = value_of(reader, "cells_total", "phase=\"solve\"");
    assert_true(value.is_integer);
    assert_int_equal(value.u64, 42);
    assert_bytes(value.unit, "bytes");
    assert_bytes(value.help, "Help.");
    assert_int_equal(value_of(reader, "cells_total", "phase=\"read\"").u64, 1ull << 60);
    assert_true(value_of(reader, "joules", "").f64 == 0.75);
    double seconds = value_of(reader, "time", "").f64;
    assert_true(seconds > 0.019 && seconds < 5);
    assert_true(value_of(reader, "load", "").f64 == -2);
    assert_false(value_of(reader, "unset", "").is_known);
    value = value_of(reader, "sizes", "");
    assert_int_equal(value.count, 8);
    assert_true(value.f64 == 170.5);
    assert_int_equal(value.bound_count, 3);
    assert_int_equal(value.buckets[1], 7);
    assert_int_equal(value.buckets[3], 1);
    segment_reader_close(&reader);
}

static void act_wrong(void)
{
    uint32_t metric;
    struct segment_description one = { .name = "x", .labels = "a=\"1\"", .kind = SEGMENT_COUNTER, .type = SEGMENT_U64 };
    struct segment_description two = { .name = "x", .labels = "a=\"2\"", .kind = SEGMENT_GAUGE, .type = SEGMENT_F64 };
    bool is_well = segment_add_metric(&segment, &one, &metric) == OK && metric != SEGMENT_METRIC_NONE;
    is_well &= segment_add_metric(&segment, &two, &metric) == USAGE && metric == SEGMENT_METRIC_NONE;
    two.labels = one.labels;
    is_well &= segment_add_metric(&segment, &two, &metric) == USAGE;
    one.name = "";
    is_well &= segment_add_metric(&segment, &one, &metric) == USAGE;
    segment_add_u64(segment_slots(&segment, SEGMENT_METRIC_NONE), 1);
    _exit(is_well ? 0 : 1);
}

static void test_invalid_descriptions(void **state)
{
    (void)state;
    assert_int_equal(in_child(act_wrong), 0);
}

static uint32_t shared;

static void *count_thousand(void *argument)
{
    for (int i = 0; i < 1000; i++)
        segment_add_u64(segment_slots(&segment, shared), 1);
    return argument;
}

static void act_threads(void)
{
    shared = counter("shared_total", "");
    for (int round = 0; round < 50; round++) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, count_thousand, NULL);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
    }
    raise(SIGKILL);
}

/* What was counted before SIGKILL is there, too. */
static void test_threads(void **state)
{
    (void)state;
    assert_int_equal(WTERMSIG(in_child(act_threads)), SIGKILL);
    struct segment_reader *reader = read_segment(0);
    assert_int_equal(value_of(reader, "shared_total", "").u64, 200000);
    assert_false(segment_reader_info(reader)->is_ended);
    assert_true(segment_reader_is_finished(reader, ""));
    assert_true(segment_reader_info(reader)->bytes < 40 * SEGMENT_PAGE);
    segment_reader_close(&reader);
}

static void act_fork(void)
{
    uint32_t metric = counter("forked_total", ""), gauge;
    segment_add_metric(&segment, &(struct segment_description){ .name = "g", .kind = SEGMENT_GAUGE,
                       .type = SEGMENT_F64 }, &gauge);
    segment_add_u64(segment_slots(&segment, metric), 5);
    pid_t pid = fork();
    segment_add_u64(segment_slots(&segment, metric), pid ? 10 : 100);
    if (pid == 0) {
        segment_gauge_set(segment_slots(&segment, gauge), 7);
        segment_add_u64(segment_slots(&segment, counter("forked_total", "")), 1);
        segment_add_u64(segment_slots(&segment, counter("of_child_total", "")), 1);
        return;
    }
    waitpid(pid, NULL, 0);
}

static uint64_t sum_of(pid_t pid, const char *name)
{
    struct segment_reader *reader = read_segment(pid);
    uint64_t value = value_of(reader, name, "").u64;
    segment_reader_close(&reader);
    return value;
}

static void test_fork(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        segment_open(&segment, "test");
        act_fork();
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    assert_int_equal(sum_of(pid, "forked_total"), 15);
    DIR *dir = opendir(work_dir);
    int segment_dir = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.') {
            struct segment_reader *reader;
            char path[TEMP_PATH_MAX];
            temp_join(path, work_dir, entry->d_name);
            segment_dir++;
            assert_int_equal(segment_reader_open(&reader, path), OK);
            assert_int_equal(segment_reader_read(reader), OK);
            if (segment_reader_info(reader)->pid != pid) {
                assert_int_equal(value_of(reader, "forked_total", "").u64, 101);
                assert_int_equal(value_of(reader, "of_child_total", "").u64, 1);
                assert_true(value_of(reader, "g", "").f64 == 7);
            }
            segment_reader_close(&reader);
        }
    closedir(dir);
    assert_int_equal(segment_dir, 2);
}

#define MANY 3000

/* Counts between adding metrics: the parent has pages that the child lacks, and other blocks of descriptors. */
static void act_fork_with_many(void)
{
    static uint32_t metrics[MANY];
    for (int i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof name, "many%d_total", i);
        metrics[i] = counter(name, "");
        segment_add_u64(segment_slots(&segment, metrics[i]), 1);
    }
    pid_t pid = fork();
    for (int i = 0; pid == 0 && i < MANY; i++)
        segment_add_u64(segment_slots(&segment, metrics[i]), 2);
    if (pid)
        waitpid(pid, NULL, 0);
}

/* Sum over all segments: 1 from the parent, 2 from the child. */
static void test_fork_with_many(void **state)
{
    (void)state;
    assert_int_equal(in_child(act_fork_with_many), 0);
    DIR *dir = opendir(work_dir);
    uint64_t metrics = 0, sum = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[TEMP_PATH_MAX];
        struct segment_reader *reader;
        struct segment_value value;
        if (entry->d_name[0] == '.')
            continue;
        temp_join(path, work_dir, entry->d_name);
        assert_int_equal(segment_reader_open(&reader, path), OK);
        assert_int_equal(segment_reader_read(reader), OK);
        for (size_t i = 0; i < segment_reader_count(reader); i++, metrics++, sum += value.u64)
            segment_reader_value(reader, i, &value);
        segment_reader_close(&reader);
    }
    closedir(dir);
    assert_int_equal(metrics, 2 * MANY);
    assert_int_equal(sum, 3 * MANY);
}

static void *count_in_child_first(void *argument)
{
    pid_t pid = vfork();
    if (pid == 0) {
        segment_add_u64(segment_slots(&segment, shared), 1); /* as in a probe: its calls before exec */
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    segment_add_u64(segment_slots(&segment, counter("behind_total", "")), 1);
    return argument;
}

/* Threads that count nothing before their vfork children do; later threads must not reuse their entries. */
static void act_vfork(void)
{
    pthread_t threads[8];
    shared = counter("shared_total", "");
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, count_in_child_first, NULL);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    count_in_child_first(NULL);
    count_thousand(NULL);
}

static void test_vfork(void **state)
{
    (void)state;
    assert_int_equal(in_child(act_vfork), 0);
    struct segment_reader *reader = read_segment(0);
    assert_int_equal(value_of(reader, "shared_total", "").u64, 1009);
    assert_int_equal(value_of(reader, "behind_total", "").u64, 9);
    segment_reader_close(&reader);
}

/* Exits with 1 if false. */
static void must(bool is_so)
{
    if (!is_so)
        _exit(1);
}

static void *own_of_another(void *mine)
{
    uint64_t *own = segment_thread_memory(&segment, 64);
    must(own && own != mine && own[0] == 0);
    return NULL;
}

/* It survives when a thread gets more slots than fit before; a forked child finds it zeroed, and has its own. */
static void act_thread_memory(void)
{
    uint64_t *own = segment_thread_memory(&segment, 64);
    must(own && own[0] == 0);
    own[0] = 5;
    for (int i = 0; i < 20000; i++) {
        char name[32];
        snprintf(name, sizeof name, "m%d", i);
        segment_add_u64(segment_slots(&segment, counter(name, "")), 1);
    }
    must(segment_thread_memory(&segment, 64) == own && own[0] == 5);
    pthread_t thread;
    must(pthread_create(&thread, NULL, own_of_another, own) == 0 && pthread_join(thread, NULL) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        must(own[0] == 0);
        uint64_t *mine = segment_thread_memory(&segment, 64);
        must(mine && mine[0] == 0);
        _exit(0);
    }
    int status = -1;
    must(waitpid(pid, &status, 0) == pid && status == 0 && own[0] == 5);
}

static void test_thread_memory(void **state)
{
    (void)state;
    assert_int_equal(in_child(act_thread_memory), 0);
}

static void test_label(void **state)
{
    (void)state;
    char labels[32] = "";
    size_t size = segment_append_label(labels, 0, sizeof labels, "a", "x\"y");
    size = segment_append_label(labels, size, sizeof labels, "b", "\n\\");
    assert_string_equal(labels, "a=\"x\\\"y\",b=\"\\n\\\\\"");
    assert_int_equal(segment_append_label(labels, size, sizeof labels, "long", "0123456789abcdef"), size);
    assert_int_equal(strlen(labels), size);
}

#define FORK_ROUNDS 200u

static void *add_one(void *metric)
{
    segment_add_u64(segment_slots(&segment, *(uint32_t *)metric), 1);
    return NULL;
}

/* A child whose thread creates its segment while it forks, each time a little later. */
static void fork_in_between(uint32_t metric, unsigned round)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, add_one, &metric))
        _exit(1);
    for (volatile unsigned i = 0; i < round * 500; i++)
        ;
    pid_t pid = fork();
    if (pid == 0)
        add_one(&metric);
    if (pid > 0) {
        waitpid(pid, NULL, 0);
        pthread_join(thread, NULL);
    }
    _exit(0);
}

static void act_forks(void)
{
    uint32_t metric = counter("forked_total", "");
    for (unsigned round = 0; round < FORK_ROUNDS; round++) {
        pid_t pid = fork();
        if (pid == 0)
            fork_in_between(metric, round);
        waitpid(pid, NULL, 0);
    }
}

/* All segments, one of them the program's own, which has counted nothing. */
static void test_fork_while_segment_is_created(void **state)
{
    (void)state;
    assert_int_equal(in_child(act_forks), 0);
    DIR *dir = opendir(work_dir);
    uint64_t sum = 0;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        struct segment_reader *reader;
        char path[TEMP_PATH_MAX];
        temp_join(path, work_dir, entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        assert_int_equal(segment_reader_open(&reader, path), OK);
        assert_int_equal(segment_reader_read(reader), OK);
        sum += value_of(reader, "forked_total", "").u64;
        segment_reader_close(&reader);
    }
    closedir(dir);
    assert_int_equal(sum, 2 * FORK_ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_invalid_descriptions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fork, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fork_with_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fork_while_segment_is_created, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_vfork, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_thread_memory, set_up, tear_down),
        cmocka_unit_test(test_label),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
