/* Tau's profiles: bytes as its own programs write them, sums over nodes, names that stay in their dir, and merges that
 * are stopped in the middle. */
#include "base/clock.h"
#include "compat/tau/profile_dir.h"
#include "compat/tau/profile_writer.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void make(struct tau_profile *profile, const char *id, const char *command, double hits, double heat)
{
    struct tau_job job = { .size = 4, .start_s = 100, .end_s = 200 };
    snprintf(job.id, sizeof job.id, "%s", id);
    snprintf(job.command, sizeof job.command, "%s", command);
    tau_profile_init(profile, &job);
    assert_int_equal(tau_profile_add(profile, TAU_COUNTER, "hits_total", "hits", hits, 1), OK);
    assert_int_equal(tau_profile_add(profile, TAU_GAUGE, "heat", "", heat, 2), OK);
}

static void bytes_match_the_layout(void **state)
{
    (void)state;
    struct tau_profile profile, again;
    struct buf bytes;
    int32_t number;
    double value;
    make(&profile, "4711", "./prog", 5, 7.5);
    buf_init(&bytes, 1u << 20);
    tau_profile_write(&profile, &bytes);
    assert_int_equal(bytes.size, 1120 + 2 * 632 + 4);
    assert_string_equal(bytes.data + 8, "4711");
    assert_string_equal(bytes.data + 8 + 64, "./prog");
    assert_string_equal(bytes.data + 1120 + 4, "hits");
    assert_string_equal(bytes.data + 1120 + 304, "hits_total");
    memcpy(&value, bytes.data + 1120 + 608, sizeof value);
    assert_true(value == 5);
    memcpy(&number, bytes.data + 1120 + 632 + 624, sizeof number);
    assert_int_equal(number, 0x1337);
    memcpy(&number, bytes.data + bytes.size - 4, sizeof number);
    assert_int_equal(number, 0x77);
    assert_int_equal(tau_profile_read(&again, (struct bytes){ bytes.data, bytes.size }), OK);
    assert_int_equal(again.count, 2);
    tau_profile_clear(&again);
    for (size_t cut = 0; cut < bytes.size; cut += 101) {
        assert_int_equal(tau_profile_read(&again, (struct bytes){ bytes.data, cut }), CORRUPT);
        tau_profile_clear(&again);
    }
    buf_clear(&bytes);
    tau_profile_clear(&profile);
}

static void counters_are_added_and_gauges_averaged_over_nodes(void **state)
{
    (void)state;
    struct tau_profile whole, part;
    make(&whole, "1", "a", 1, 10);
    for (int i = 0; i < 2; i++) {
        make(&part, "1", i ? "b" : "a", 10, 40);
        part.job.start_s = 50;
        part.job.end_s = (uint64_t)(300 + i);
        assert_int_equal(tau_profile_add(&part, TAU_COUNTER, "more_total", "", 2, 3), OK);
        assert_int_equal(tau_profile_merge(&whole, &part), OK);
        tau_profile_clear(&part);
    }
    assert_int_equal(whole.count, 3);
    assert_true(whole.metrics[0].event.value == 21);
    assert_true(whole.metrics[1].event.value == 30); /* (10 + 40 + 40) / 3, in whatever order */
    assert_true(whole.metrics[2].event.value == 4);
    assert_string_equal(whole.job.command, "a : b");
    assert_int_equal(whole.job.start_s, 50);
    assert_int_equal(whole.job.end_s, 301);
    tau_profile_clear(&whole);
}

static void long_names_keep_their_closing_brace(void **state)
{
    (void)state;
    struct tau_profile profile;
    char name[1000];
    memset(name, '\\', sizeof name);
    memcpy(name, "x_total{a=\"", 11);
    memcpy(name + 997, "\"}", 3);
    make(&profile, "1", "a", 0, 0);
    assert_int_equal(tau_profile_add(&profile, TAU_COUNTER, name, NULL, 1, 1), OK);
    const char *cut = profile.metrics[2].event.name;
    size_t size = strlen(cut), backslashes = 0;
    assert_true(size >= 297 && size < 300);
    assert_string_equal(cut + size - 2, "\"}");
    while (cut[size - 3 - backslashes] == '\\')
        backslashes++;
    assert_int_equal(backslashes % 2, 0);
    tau_profile_clear(&profile);
}

static void job_ids_cannot_leave_the_directory(void **state)
{
    (void)state;
    char name[65];
    tau_profile_file_name(name, "../evil");
    assert_string_equal(name, "%2E.%2Fevil");
    tau_profile_file_name(name, "/etc/passwd");
    assert_string_equal(name, "%2Fetc%2Fpasswd");
    tau_profile_file_name(name, "4711-0");
    assert_string_equal(name, "4711-0");
}

static void jobs_never_share_a_file(void **state)
{
    (void)state;
    static const char *const ids[] = { "a/b", "a b", "a_b", "a%2Fb", "a\xff" "b", "A/b" };
    char names[sizeof ids / sizeof *ids][TAU_PROFILE_FILE_NAME], one[TAU_PROFILE_FILE_NAME], other[TAU_PROFILE_FILE_NAME], id[64];
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        tau_profile_file_name(names[i], ids[i]);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(names[i], names[k]);
    }
    memset(id, '/', sizeof id); /* escaped it would be too long */
    id[63] = '\0';
    tau_profile_file_name(one, id);
    id[62] = '*';
    tau_profile_file_name(other, id);
    assert_int_equal(strlen(one), TAU_PROFILE_FILE_NAME - 1);
    assert_string_not_equal(one, other);
    memset(id, 'x', sizeof id); /* as long as one can be, and without an end */
    tau_profile_file_name(one, id);
    assert_memory_equal(one, id, sizeof id);
}

static void command_is_without_launchers(void **state)
{
    (void)state;
    char command[] = "/opt/tau/bin/tau_metric_proxy_run -u /tmp/x.unix -m -s -- tau_strace -c -- ./imb -- 3";
    tau_profile_real_command(command);
    assert_string_equal(command, "./imb -- 3");
    char other[] = "./prog -- tau_metric_proxy_run";
    tau_profile_real_command(other);
    assert_string_equal(other, "./prog -- tau_metric_proxy_run");
}

static size_t files_in(const char *path)
{
    DIR *dir = opendir(path);
    size_t count = 0;
    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count ? count - 2 : 0;
}

static void expect_profile(const char *dir, const char *name, double hits)
{
    char path[TEMP_PATH_MAX];
    struct tau_profile profile;
    temp_join(path, dir, name);
    assert_int_equal(tau_profile_load(&profile, path), OK);
    assert_true(profile.metrics[0].event.value == hits);
    assert_true(profile.job.end_s + 60 > (uint64_t)time(NULL));
    tau_profile_clear(&profile);
}

static void workers_dump_and_leader_merges(void **state)
{
    (void)state;
    char dir[TEMP_PATH_MAX], below[TEMP_PATH_MAX];
    struct tau_profile_writer *worker, *leader;
    struct tau_profile profile;
    temp_dir(dir);
    temp_join(below, dir, "a/b");
    assert_int_equal(tau_profile_writer_open(&worker, &(struct tau_profile_writer_settings){ below, true }), OK);
    for (int i = 0; i < 3; i++) {
        make(&profile, i < 2 ? "../x" : "77", "c", i + 1, 0);
        assert_int_equal(tau_profile_writer_put_take(worker, &profile), OK);
    }
    tau_profile_writer_close(&worker);
    assert_null(worker);
    assert_int_equal(files_in(below), 3);
    assert_int_equal(tau_profile_writer_open(&leader, &(struct tau_profile_writer_settings){ below, false }), OK);
    make(&profile, "77", "c", 10, 0);
    assert_int_equal(tau_profile_writer_put_take(leader, &profile), OK);
    tau_profile_writer_close(&leader);
    expect_profile(below, "profiles/%/%2E.%2Fx.profile", 3);
    expect_profile(below, "profiles/7/77.profile", 13);
    assert_int_equal(files_in(below), 2); /* profiles, lock */
    assert_int_equal(files_in(dir), 1);
    temp_remove(dir);
}

static void write_profile(const char *dir, const char *name, double hits)
{
    char path[TEMP_PATH_MAX];
    struct tau_profile profile;
    struct buf bytes;
    buf_init(&bytes, 1u << 20);
    make(&profile, "5", "c", hits, 0);
    profile.job.end_s = (uint64_t)time(NULL);
    tau_profile_write(&profile, &bytes);
    temp_join(path, dir, name);
    temp_write(path, bytes.data, bytes.size);
    tau_profile_clear(&profile);
    buf_clear(&bytes);
}

static void interrupted_merge_counts_once(void **state)
{
    (void)state;
    char dir[TEMP_PATH_MAX];
    uint64_t merged = 0;
    temp_dir(dir);
    /* Stopped before the dump was removed: it is merged now. */
    write_profile(dir, "profiles/5/5.profile", 1);
    write_profile(dir, "profiles/5/5.profile.new-5-n1.1.taumetric", 11);
    write_profile(dir, "5-n1.1.taumetric", 10);
    assert_int_equal(tau_profile_dir_merge(dir, &merged), OK);
    assert_int_equal(merged, 1);
    expect_profile(dir, "profiles/5/5.profile", 11);
    /* Stopped after it: the new one is the truth. */
    write_profile(dir, "profiles/5/5.profile.new-5-n2.1.taumetric", 42);
    assert_int_equal(tau_profile_dir_merge(dir, &merged), OK);
    assert_int_equal(merged, 1);
    expect_profile(dir, "profiles/5/5.profile", 42);
    temp_remove(dir);
}

static void damaged_dump_is_renamed(void **state)
{
    (void)state;
    char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
    uint64_t merged = 0;
    temp_dir(dir);
    temp_join(path, dir, "1-n.1.taumetric");
    temp_write(path, "nonsense", 8);
    write_profile(dir, "5-n.1.taumetric", 3);
    assert_int_equal(tau_profile_dir_merge(dir, &merged), OK);
    assert_int_equal(merged, 1);
    assert_int_equal(access(path, F_OK), 0); /* somebody may still be writing it */
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    assert_int_equal(tau_profile_dir_merge(dir, &merged), OK);
    assert_int_equal(access(path, F_OK), -1);
    temp_join(path, dir, "1-n.1.taumetric.bad");
    assert_int_equal(access(path, F_OK), 0);
    temp_remove(dir);
}

static void directory_of_another_leader_is_left_alone(void **state)
{
    (void)state;
    char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX], other[68] = "some-other-host";
    uint64_t merged = 0;
    temp_dir(dir);
    temp_join(path, dir, "lock");
    temp_write(path, other, sizeof other);
    assert_int_equal(tau_profile_dir_merge(dir, &merged), AGAIN);
    struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    assert_int_equal(tau_profile_dir_merge(dir, &merged), OK);
    temp_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_match_the_layout),
        cmocka_unit_test(counters_are_added_and_gauges_averaged_over_nodes),
        cmocka_unit_test(long_names_keep_their_closing_brace),
        cmocka_unit_test(job_ids_cannot_leave_the_directory),
        cmocka_unit_test(jobs_never_share_a_file),
        cmocka_unit_test(command_is_without_launchers),
        cmocka_unit_test(workers_dump_and_leader_merges),
        cmocka_unit_test(interrupted_merge_counts_once),
        cmocka_unit_test(damaged_dump_is_renamed),
        cmocka_unit_test(directory_of_another_leader_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
