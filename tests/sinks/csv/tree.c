/* A tree of CSV files: paths, whole rows without duplicates, rotation. */
#include "sinks/csv/path.h"
#include "sinks/sink.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct metric memory_metrics[] = {
    { "total", "B", GAUGE, U64, "all", "MemTotal" }, { "free", "B", GAUGE, U64, "free", "MemFree" },
};
static const struct set meminfo = { "meminfo", memory_metrics, 2, NULL };
static const struct set wider = { "meminfo", memory_metrics, 1, NULL };
static const struct metric disk_metrics[] = {
    { "read", "B", COUNTER, U64, "read", "sect_read" }, { "read_time", "us", COUNTER, U64, "time", "time_read" },
};
static const struct set disks = { "diskstats", disk_metrics, 2, NULL };
static const struct metric load_metrics[] = { { "load", "1", GAUGE, F64, "load", NULL } };
static const struct set cpus = { "load_cpu", load_metrics, 1, "cpu" };

static const struct job ada = { .id = "4711", .other_id = "", .source = "slurm", .user = "ada", .cgroup = "" };
static const struct job bob = { .id = "a b/../c", .other_id = "", .source = "told", .user = "../bob", .cgroup = "" };

struct fixture {
    char dir[TEMP_PATH_MAX], tree[TEMP_PATH_MAX];
    const struct sink *sink;
    void *state;
    struct batch batch;
};

static void begin(struct fixture *f, const char *key, const char *value)
{
    f->sink = sink_find("csv");
    f->state = calloc(1, f->sink->state_size);
    assert_int_equal(setting_defaults(f->sink->settings, f->state), OK);
    assert_int_equal(setting_apply(f->sink->settings, f->state, "dir", f->tree), OK);
    assert_int_equal(setting_apply(f->sink->settings, f->state, "commit", "1h"), OK);
    if (key)
        assert_int_equal(setting_apply(f->sink->settings, f->state, key, value), OK);
    assert_int_equal(f->sink->open(f->state), OK);
}

static void end(struct fixture *f)
{
    f->sink->close(f->state);
    free(f->state);
}

static int set_up(void **state)
{
    struct fixture *f = *state = calloc(1, sizeof *f);
    temp_dir(f->dir);
    temp_join(f->tree, f->dir, "tree");
    batch_init(&f->batch);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    batch_clear(&f->batch);
    temp_remove(f->dir);
    free(f);
    return 0;
}

static const char *content(struct fixture *f, const char *name)
{
    static char text[65536];
    char path[TEMP_PATH_MAX];
    temp_join(path, f->tree, name);
    int fd = open(path, O_RDONLY);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    close(fd);
    if (got < 0)
        return "(none)";
    text[got] = '\0';
    return text;
}

/* Writes the memory of the node at second tick, at a journal position. */
static void write_tick(struct fixture *f, uint64_t tick, uint64_t position, const struct set *set)
{
    batch_reset(&f->batch);
    f->batch.host = "n017";
    f->batch.position = position;
    struct sample *sample = batch_add(&f->batch, set, tick * 1000000000 + 1246789, "");
    sample_set_u64(sample, 0, 2048 * tick);
    if (set->size > 1 && tick != 2)
        sample_set_u64(sample, 1, 1024);
    assert_int_equal(f->sink->write(f->state, &f->batch), OK);
}

#define HEADER "#Time,Time_usec,ProducerName,component_id,job_id,app_id,MemTotal,MemFree\n"

static void columns_are_those_of_ldms(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL, NULL);
    write_tick(f, 1, 0, &meminfo);
    write_tick(f, 2, 0, &meminfo);
    assert_int_equal(f->sink->flush(f->state, 1), OK);
    assert_string_equal(content(f, "node/n017/meminfo.csv"),
                        HEADER "1.001246,1246,n017,17,0,0,2,1\n2.001246,1246,n017,17,0,0,4,\n");
    end(f);
}

static const struct metric vm_metrics[] = { { "pgpgin", "B", COUNTER, U64, "in", NULL } };
static const struct set vmstat = { "vmstat", vm_metrics, 1, NULL };

/* Rows of a node: one per producer, with the jobs that it stands for. */
static void producers_are_named_after_users(void **state)
{
    struct fixture *f = *state;
    static const struct job first = { .id = "1", .user = "ada" }, second = { .id = "2", .user = "ben" },
                            third = { .id = "3", .user = "ada" };
    static const struct job *const jobs[] = { &first, &second, &third };
    f->sink = sink_find("csv");
    f->state = calloc(1, f->sink->state_size);
    assert_int_equal(setting_defaults(f->sink->settings, f->state), OK);
    assert_int_equal(setting_apply(f->sink->settings, f->state, "dir", f->tree), OK);
    assert_int_equal(setting_apply(f->sink->settings, f->state, "layout", "ldms"), OK);
    assert_int_equal(setting_apply(f->sink->settings, f->state, "producer", "%{user}-%{host}"), OK);
    assert_int_equal(f->sink->open(f->state), OK);
    for (size_t count = 0; count <= 3; count++) {
        batch_reset(&f->batch);
        f->batch.host = "n017";
        f->batch.jobs = jobs;
        f->batch.job_count = count;
        sample_set_u64(batch_add(&f->batch, &vmstat, (count + 1) * 1000000000, ""), 0, 3072);
        sample_set_f64(batch_add(&f->batch, &cpus, (count + 1) * 1000000000, "cpu0"), 0, 0.5);
        sample_set_f64(batch_add(&f->batch, &cpus, (count + 1) * 1000000000, "cpu1"), 0, 1);
        assert_int_equal(f->sink->write(f->state, &f->batch), OK);
    }
    assert_int_equal(f->sink->flush(f->state, 1), OK);
    assert_string_equal(content(f, "sonde/vmstat"),
                        "#Time,Time_usec,ProducerName,component_id,job_id,app_id,pgpgin\n"
                        "1.000000,0,n017,17,0,0,3\n2.000000,0,ada-n017,17,1,0,3\n3.000000,0,ada-n017,17,1,0,3\n"
                        "3.000000,0,ben-n017,17,2,0,3\n4.000000,0,ada-n017,17,1 3,0,3\n4.000000,0,ben-n017,17,2,0,3\n");
    assert_non_null(strstr(content(f, "sonde/load_cpu"),
                           "\n3.000000,0,ada-n017,17,1,0,0,cpu0,0.5\n3.000000,0,ada-n017,17,1,0,1,cpu1,1\n"
                           "3.000000,0,ben-n017,17,2,0,0,cpu0,0.5\n3.000000,0,ben-n017,17,2,0,1,cpu1,1\n"));
    end(f);
}

static void jobs_have_directories(void **state)
{
    struct fixture *f = *state;
    static const struct job *const jobs[] = { &ada, &bob };
    begin(f, NULL, NULL);
    batch_reset(&f->batch);
    f->batch.host = "n1";
    f->batch.jobs = jobs;
    f->batch.job_count = 2;
    struct sample *sample = batch_add(&f->batch, &meminfo, 5000000000, "");
    sample_set_u64(sample, 0, 1024);
    for (int i = 0; i < 2; i++) {
        sample = batch_add(&f->batch, &cpus, 5000000000, i ? "cpu1" : "cpu0");
        sample->job = "4711";
        sample_set_f64(sample, 0, 0.5 + i);
    }
    sample = batch_add(&f->batch, &cpus, 5000000000, "cpu0");
    sample->job = "unknown";
    sample_set_f64(sample, 0, 9);
    assert_int_equal(f->sink->write(f->state, &f->batch), OK);
    assert_int_equal(f->sink->flush(f->state, 1), OK);
    assert_string_equal(content(f, "ada/4711/n1/load_cpu.csv"),
                        "#Time,Time_usec,ProducerName,component_id,job_id,app_id,cpu_list_entry_idx,cpu_list_name,load\n"
                        "5.000000,0,n1,1,4711,0,0,cpu0,0.5\n5.000000,0,n1,1,4711,0,1,cpu1,1.5\n");
    assert_string_equal(content(f, "ada/4711/n1/meminfo.csv"), HEADER "5.000000,0,n1,1,4711,0,1,\n");
    assert_string_equal(content(f, "node/n1/meminfo.csv"), HEADER "5.000000,0,n1,1,0,0,1,\n");
    assert_string_equal(content(f, "_._bob/a_b_.._c/n1/meminfo.csv"), HEADER "5.000000,0,n1,1,a b/../c,0,1,\n");
    assert_non_null(strstr(content(f, "-/unknown/n1/load_cpu.csv"), ",unknown,0,2,cpu0,9\n"));
    end(f);
}

static void one_file_per_ldms_schema(void **state)
{
    struct fixture *f = *state;
    begin(f, "layout", "ldms");
    write_tick(f, 1, 0, &meminfo);
    f->batch.host = "n2";
    assert_int_equal(f->sink->write(f->state, &f->batch), OK);
    write_tick(f, 1, 0, &disks);
    end(f);
    assert_string_equal(content(f, "sonde/procdiskstats"),
                        "#Time,Time_usec,ProducerName,component_id,job_id,app_id,sect_read,time_read\n"
                        "1.001246,1246,n017,17,0,0,4,1\n");
    assert_string_equal(content(f, "sonde/meminfo"), HEADER "1.001246,1246,n017,17,0,0,2,1\n1.001246,1246,n2,2,0,0,2,1\n");
}

static void no_duplicates_after_a_crash(void **state)
{
    struct fixture *f = *state;
    uint64_t position = 0;
    int status;
    pid_t child = fork();
    if (child == 0) {
        begin(f, NULL, NULL);
        for (uint64_t tick = 1; tick <= 3; tick++)
            write_tick(f, tick, tick * 100, &meminfo);
        bool good = f->sink->flush(f->state, 0) == OK && f->sink->durable(f->state) == 300;
        write_tick(f, 4, 400, &meminfo);
        write_tick(f, 4, 400, &wider); /* renames the file and starts a new one */
        good = good && f->sink->flush(f->state, 1) == OK && f->sink->durable(f->state) == 300;
        _exit(good ? 7 : 1); /* without a commit */
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    begin(f, NULL, NULL);
    assert_int_equal(f->sink->resume(f->state, &position), OK);
    assert_int_equal(position, 300);
    const char *three = HEADER "1.001246,1246,n017,17,0,0,2,1\n2.001246,1246,n017,17,0,0,4,\n3.001246,1246,n017,17,0,0,6,1\n";
    assert_string_equal(content(f, "node/n017/meminfo.csv"), three);
    write_tick(f, 4, 400, &meminfo);
    end(f);
    begin(f, NULL, NULL);
    assert_int_equal(f->sink->resume(f->state, &position), OK);
    assert_int_equal(position, 400);
    assert_non_null(strstr(content(f, "node/n017/meminfo.csv"), "\n4.001246,1246,n017,17,0,0,8,1\n"));
    end(f);
}

/* A crash between the commit and the new undo log. */
static void an_undo_log_of_an_older_position_is_ignored(void **state)
{
    struct fixture *f = *state;
    char path[TEMP_PATH_MAX];
    begin(f, NULL, NULL);
    write_tick(f, 1, 100, &meminfo);
    end(f);
    temp_join(path, f->tree, ".sonde-undo");
    FILE *log = fopen(path, "w");
    fputs("B 50\nT 0 node/n017/meminfo.csv\n", log);
    fclose(log);
    begin(f, NULL, NULL);
    assert_non_null(strstr(content(f, "node/n017/meminfo.csv"), "1.001246"));
    end(f);
    log = fopen(path, "w");
    fputs("B 100\nT 80 node/n017/meminfo.csv\nT 7 node/cut sho", log); /* its last line is incomplete */
    fclose(log);
    begin(f, NULL, NULL);
    assert_int_equal(strlen(content(f, "node/n017/meminfo.csv")), 80);
    end(f);
}

static void a_changed_header_starts_a_new_file(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL, NULL);
    write_tick(f, 1, 0, &meminfo);
    write_tick(f, 2, 0, &wider);
    end(f);
    assert_string_equal(content(f, "node/n017/meminfo.csv"),
                        "#Time,Time_usec,ProducerName,component_id,job_id,app_id,MemTotal\n2.001246,1246,n017,17,0,0,4\n");
    begin(f, NULL, NULL);
    write_tick(f, 3, 0, &wider); /* the same header: continues */
    end(f);
    assert_non_null(strstr(content(f, "node/n017/meminfo.csv"), "\n2.001246,1246,n017,17,0,0,4\n3.001246,"));
}

/* Counts files ("wc -l"), or with xargs their lines, in a shell. */
static unsigned count(struct fixture *f, const char *how)
{
    char command[TEMP_PATH_MAX + 128];
    unsigned count = 0;
    snprintf(command, sizeof command, "find '%s' -type f -name '[^.]*' | %s", f->tree, how);
    FILE *out = popen(command, "r"); /* NOLINT(cert-env33-c): a path of this test's own */
    assert_int_equal(fscanf(out, "%u", &count), 1); /* NOLINT(cert-err34-c) */
    pclose(out);
    return count;
}

static void files_are_rotated_by_size(void **state)
{
    struct fixture *f = *state;
    begin(f, "rotate_size", "150");
    for (uint64_t tick = 1; tick <= 6; tick++) {
        write_tick(f, tick, 0, &meminfo);
        assert_int_equal(f->sink->flush(f->state, 0), OK);
    }
    end(f);
    unsigned files = count(f, "wc -l");
    assert_true(files >= 2);
    assert_int_equal(count(f, "xargs cat | grep -c '^#Time'"), files);
    assert_int_equal(count(f, "xargs cat | grep -vc '^#Time'"), 6);
}

static void more_files_than_descriptors(void **state)
{
    struct fixture *f = *state;
    const struct rlimit few = { 128, 128 }; /* this is the last test but one, and the other opens nothing */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    begin(f, "node_template", "%{instance}.csv");
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 700; i++) {
            char instance[16];
            snprintf(instance, sizeof instance, "i%u", i);
            batch_reset(&f->batch);
            f->batch.host = "n1";
            struct sample *sample = batch_add(&f->batch, &meminfo, 1000000000ull * (round + 1), instance);
            sample_set_u64(sample, 0, i * 1024);
            assert_int_equal(f->sink->write(f->state, &f->batch), OK);
        }
        assert_int_equal(f->sink->flush(f->state, 1), OK);
    }
    end(f);
    assert_int_equal(count(f, "wc -l"), 700);
    assert_string_equal(content(f, "i699.csv"), HEADER "1.000000,0,n1,1,0,0,699,\n2.000000,0,n1,1,0,0,699,\n");
}

static void invalid_templates_are_rejected(void **state)
{
    (void)state;
    static const char *const bad[] = { "", "/abs", "../x", "a/../b", "%{usr}/x", "%x", "a b", "folder/" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct buf error;
        buf_init(&error, 1000);
        assert_int_equal(csv_path_check(bad[i], &error), USAGE);
        assert_true(error.size > 0);
        buf_clear(&error);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(columns_are_those_of_ldms), TEST(jobs_have_directories), TEST(one_file_per_ldms_schema),
        TEST(producers_are_named_after_users),
        TEST(no_duplicates_after_a_crash), TEST(an_undo_log_of_an_older_position_is_ignored),
        TEST(a_changed_header_starts_a_new_file), TEST(files_are_rotated_by_size), TEST(more_files_than_descriptors),
        cmocka_unit_test(invalid_templates_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
