/* Threads that write to one segment concurrently while it is read from outside: for ThreadSanitizer, and for
 * problems that need many threads. The child is the program, the test is the reader. */
#include "probe/segment/segment.h"
#include "appmetrics/segment_reader.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 8
#define ROUNDS 30
#define ADDS 2000

static struct segment segment;
static const double bounds[] = { 1, 10 };

static uint32_t metric(const char *name, enum segment_metric_kind kind, enum segment_value_type type)
{
    return segment_metric(&segment, &(struct segment_description){ .name = name, .kind = kind, .type = type });
}

/* Each adds the metrics itself, like independent libraries. */
static void *count(void *argument)
{
    uint32_t whole = metric("whole", SEGMENT_COUNTER, SEGMENT_U64);
    uint32_t real = metric("real", SEGMENT_COUNTER, SEGMENT_F64);
    uint32_t gauge = metric("gauge", SEGMENT_GAUGE, SEGMENT_F64);
    struct segment_description sizes = { .name = "sizes", .kind = SEGMENT_HISTOGRAM, .type = SEGMENT_F64, .bounds = bounds };
    sizes.bound_count = 2;
    uint32_t histogram = segment_metric(&segment, &sizes);
    for (int i = 0; i < ADDS; i++) {
        segment_add_u64(segment_slots(&segment, whole), 1);
        segment_add_f64(segment_slots(&segment, real), 0.5);
        segment_gauge_add(segment_slots(&segment, gauge), 1);
        segment_add_u64(segment_slots(&segment, histogram) + i % 3, 1);
    }
    char name[32];
    snprintf(name, sizeof name, "own_%d", (int)(intptr_t)argument);
    segment_add_u64(segment_slots(&segment, metric(name, SEGMENT_COUNTER, SEGMENT_U64)), 1);
    return NULL;
}

static void be_the_program(void)
{
    segment_open(&segment, "test");
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            if (pthread_create(&threads[i], NULL, count, (void *)(intptr_t)(round * THREADS + i)))
                _exit(1);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    segment_end(&segment);
}

/* NULL: not created yet. */
static struct segment_reader *find(const char *work_dir)
{
    struct segment_reader *reader = NULL;
    DIR *dir = opendir(work_dir);
    for (struct dirent *entry; !reader && (entry = readdir(dir));) {
        char path[TEMP_PATH_MAX];
        temp_join(path, work_dir, entry->d_name);
        if (entry->d_name[0] != '.')
            (void)segment_reader_open(&reader, path);
    }
    closedir(dir);
    return reader;
}

static struct segment_value value_of(const struct segment_reader *reader, const char *name)
{
    struct segment_value value = { 0 };
    for (size_t i = 0; i < segment_reader_count(reader); i++) {
        segment_reader_value(reader, i, &value);
        if (bytes_equal(value.name, bytes_of(name)))
            return value;
    }
    return (struct segment_value){ 0 };
}

/* Values only grow, and at the end they are what was counted. */
static void test_crowd(void **state)
{
    (void)state;
    char work_dir[TEMP_PATH_MAX];
    temp_dir(work_dir);
    setenv(SEGMENT_ENV_DIR, work_dir, 1);
    pid_t pid = fork();
    if (pid == 0) {
        be_the_program();
        _exit(0);
    }
    struct segment_reader *reader = NULL;
    uint64_t before = 0, readings = 0;
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (!reader && !(reader = find(work_dir)))
            continue;
        assert_int_equal(segment_reader_read(reader), OK);
        uint64_t now = value_of(reader, "whole").u64;
        assert_true(now >= before);
        before = now;
        readings++;
    }
    assert_int_equal(status, 0);
    reader = reader ? reader : find(work_dir);
    assert_non_null(reader);
    assert_int_equal(segment_reader_read(reader), OK);
    assert_int_equal(value_of(reader, "whole").u64, THREADS * ROUNDS * ADDS);
    assert_true(value_of(reader, "real").f64 == THREADS * ROUNDS * ADDS / 2.);
    assert_true(value_of(reader, "gauge").f64 == THREADS * ROUNDS * ADDS);
    assert_int_equal(value_of(reader, "sizes").count, THREADS * ROUNDS * ADDS);
    assert_int_equal(segment_reader_count(reader), 4 + THREADS * ROUNDS);
    print_message("# read %llu times meanwhile\n", (unsigned long long)readings);
    segment_reader_close(&reader);
    temp_remove(work_dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_crowd) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
