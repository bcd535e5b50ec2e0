/* Which processes are considered unprobed: by notices, and by records in the spool. */
#include "run/unprobed.h"

#include "base/clock.h"
#include "tools/temp.h"
#include "tools/unit.h"
#include "run/spool_writer.h"

#include <fcntl.h>
#include <unistd.h>

#define NOW_NS (1000 * NS_PER_S)

static char dir[TEMP_PATH_MAX], notices[TEMP_PATH_MAX], spool[TEMP_PATH_MAX];
static struct unprobed unprobed;
static struct run_members members;
static struct spool_writer writer;
static unsigned found;

static int set_up(void **state)
{
    (void)state;
    temp_dir(dir);
    temp_join(notices, dir, "bell");
    temp_join(spool, dir, "spool");
    int fd = open(spool, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    spool_writer_init_take(&writer, fd);
    members_init(&members);
    found = 0;
    return unprobed_open(&unprobed, notices, fd) == OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    unprobed_close(&unprobed);
    assert_int_equal(access(notices, F_OK), -1);
    members_clear(&members);
    spool_writer_close(&writer);
    temp_remove(dir);
    return 0;
}

static void on_found(void *context, struct run_member *member)
{
    (void)context;
    found += member->pid;
}

static void look(uint64_t now_ns)
{
    unprobed_mark_spool_end(&unprobed);
    unprobed_check_spool(&unprobed, &members, now_ns, on_found, NULL);
}

static void write_image(uint32_t pid, uint64_t time_ns)
{
    spool_writer_add_image(&writer, &(struct image_record){ .pid = pid, .time_ns = time_ns });
    spool_writer_flush(&writer);
}

static void write_exec(uint32_t pid, uint64_t time_ns, uint64_t copied)
{
    spool_writer_add_exec(&writer, &(struct exec_record){ .pid = pid, .time_ns = time_ns, .copied = copied });
    spool_writer_flush(&writer);
}

static void write_notice(uint32_t pid, uint64_t time_ns)
{
    struct probe_notice one = { .time_ns = time_ns, .pid = pid };
    int fd = open(notices, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_int_equal(write(fd, &one, sizeof one), sizeof one);
    close(fd);
}

static void a_notice_marks_a_process_unprobed(void **state)
{
    (void)state;
    members_add(&members, 7, 1);
    members_add(&members, 8, 1);
    members_add(&members, 9, 1);
    write_notice(7, NOW_NS);
    write_notice(9, NOW_NS);
    write_notice(11, NOW_NS); /* not a member */
    unprobed_read_notices(&unprobed);
    unprobed_apply_notices(&unprobed, &members, true);
    assert_int_equal(unprobed.notice_count, 0);
    assert_int_equal(members.unprobed_count, 2);
    assert_true(members_find(&members, 7)->is_unprobed);
    assert_false(members_find(&members, 8)->is_unprobed);
    members_end(&members, members_find(&members, 7), 1);
    assert_int_equal(members.unprobed_count, 1);
    members_remove(&members, 9);
    assert_int_equal(members.unprobed_count, 0);
}

/* It was created after forks were read: the next reading finds it. */
static void an_early_notice_is_kept_until_the_fork_is_read(void **state)
{
    (void)state;
    write_notice(7, NOW_NS);
    unprobed_read_notices(&unprobed);
    unprobed_apply_notices(&unprobed, &members, false);
    assert_int_equal(members.unprobed_count, 0);
    members_add(&members, 7, 1);
    unprobed_apply_notices(&unprobed, &members, true);
    assert_int_equal(members.unprobed_count, 1);
    assert_int_equal(unprobed.notice_count, 0);
}

static void notices_that_do_not_fit_are_read_later(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < UNPROBED_NOTICES_MAX + 1; i++)
        write_notice(7 + i, NOW_NS);
    unprobed_read_notices(&unprobed);
    unprobed_read_notices(&unprobed);
    assert_int_equal(unprobed.notice_count, UNPROBED_NOTICES_MAX);
    unprobed_apply_notices(&unprobed, &members, true);
    members_add(&members, 7 + UNPROBED_NOTICES_MAX, 1);
    unprobed_read_notices(&unprobed);
    unprobed_apply_notices(&unprobed, &members, true);
    assert_int_equal(members.unprobed_count, 1);
}

/* It executed a program with the probe, which immediately sent a notice about the program without it that it is
 * about to execute. */
static void records_before_the_notice_do_not_count(void **state)
{
    (void)state;
    unprobed_add_candidate(&unprobed, &members, members_add(&members, 7, 1), NOW_NS, false);
    write_image(7, NOW_NS + 1);
    write_notice(7, NOW_NS + 2);
    unprobed_read_notices(&unprobed);
    unprobed_apply_notices(&unprobed, &members, true);
    look(NOW_NS + 3);
    assert_int_equal(members.unprobed_count, 1);
    unprobed_add_candidate(&unprobed, &members, members_find(&members, 7), NOW_NS + 4, false);
    write_image(7, NOW_NS + 5);
    look(NOW_NS + 6);
    assert_int_equal(members.unprobed_count, 0);
}

/* An image that started since: its exec event has not been read, so there is no candidate yet. */
static void records_after_the_mark_are_read_next_time(void **state)
{
    (void)state;
    unprobed_mark_spool_end(&unprobed);
    write_image(7, NOW_NS + 1);
    unprobed_check_spool(&unprobed, &members, NOW_NS + 2, on_found, NULL);
    members_set_unprobed(&members, members_add(&members, 7, 1), true);
    unprobed_add_candidate(&unprobed, &members, members_find(&members, 7), NOW_NS, false);
    look(NOW_NS + 3);
    assert_int_equal(members.unprobed_count, 0);
}

static void copies_of_the_previous_image_stay_unprobed(void **state)
{
    (void)state;
    members_set_unprobed(&members, members_add(&members, 5, 1), true);
    members_set_unprobed(&members, members_add(&members, 6, 5), true);
    unprobed_add_candidate(&unprobed, &members, members_find(&members, 6), NOW_NS, true);
    unprobed_add_candidate(&unprobed, &members, members_find(&members, 5), NOW_NS + 1, false);
    write_image(5, NOW_NS + 2);
    look(NOW_NS + 3);
    assert_false(members_find(&members, 5)->is_unprobed);
    assert_true(members_find(&members, 6)->is_unprobed);
}

static void unprobed_while_we_were_stopped(void **state)
{
    (void)state;
    unprobed_add_candidate(&unprobed, &members, members_add(&members, 7, 1), NOW_NS, false);
    look(NOW_NS + 5 * NS_PER_S);
    assert_int_equal(found, 7);
    assert_int_equal(members.unprobed_count, 1);
    assert_int_equal(unprobed.count, 0);
}

static void a_probe_record_means_probed(void **state)
{
    (void)state;
    struct run_member *member = members_add(&members, 7, 1);
    members_set_unprobed(&members, member, true);
    unprobed_add_candidate(&unprobed, &members, member, NOW_NS, false);
    write_image(8, NOW_NS + 1);
    write_image(7, NOW_NS - 1); /* of its previous image */
    look(NOW_NS + 2);
    assert_int_equal(members.unprobed_count, 1);
    write_image(7, NOW_NS + 1);
    look(NOW_NS + 2);
    assert_int_equal(members.unprobed_count, 0);
    assert_int_equal(unprobed.count, 0);
}

/* A complete exec record is written before the exec event; it is valid for that exec only. */
static void a_complete_exec_record_means_probed(void **state)
{
    (void)state;
    write_exec(7, NOW_NS - 1, RECORD_EXEC_COPIED);
    unprobed_add_candidate(&unprobed, &members, members_add(&members, 7, 1), NOW_NS, false);
    look(NOW_NS + 1);
    assert_int_equal(unprobed.count, 1); /* it was not complete: the image will write its own */
    write_exec(7, NOW_NS - 1, RECORD_EXEC_WHOLE);
    look(NOW_NS + 2);
    assert_int_equal(unprobed.count, 0);
    /* past the probe */
    unprobed_add_candidate(&unprobed, &members, members_find(&members, 7), NOW_NS + 3 * NS_PER_S, false);
    look(NOW_NS + 4 * NS_PER_S);
    assert_int_equal(found, 7);
}

/* Recorded before the mark, executed after it: there is no candidate when the mark is passed. */
static void records_before_the_mark_are_found(void **state)
{
    (void)state;
    struct run_member *member = members_add(&members, 7, 1);
    members_add(&members, 8, 1);
    for (int is_candidate = 0; is_candidate < 2; is_candidate++) {
        uint64_t now_ns = NOW_NS + (uint64_t)is_candidate * NS_PER_S;
        if (is_candidate) /* another candidate is pending meanwhile */
            unprobed_add_candidate(&unprobed, &members, members_find(&members, 8), now_ns, false);
        look(now_ns);
        write_exec(7, now_ns + 1, RECORD_EXEC_WHOLE);
        look(now_ns + 2);
        unprobed_add_candidate(&unprobed, &members, member, now_ns + 3, false);
        look(now_ns + 4);
        assert_int_equal(unprobed.count, is_candidate);
    }
}

static void copies_are_resolved_with_their_parent(void **state)
{
    (void)state;
    for (uint32_t pid = 5; pid < 9; pid++) { /* each the child of the previous */
        members_set_unprobed(&members, members_add(&members, pid, pid - 1), true);
        unprobed_add_candidate(&unprobed, &members, members_find(&members, pid), NOW_NS, pid > 5);
    }
    members_set_unprobed(&members, members_add(&members, 20, 19), true); /* of another unprobed process */
    unprobed_add_candidate(&unprobed, &members, members_find(&members, 20), NOW_NS, true);
    write_image(5, NOW_NS + 1);
    look(NOW_NS + 2);
    assert_int_equal(members.unprobed_count, 1);
    assert_true(members_find(&members, 20)->is_unprobed);
}

static void without_a_record_a_process_is_unprobed(void **state)
{
    (void)state;
    unprobed_add_candidate(&unprobed, &members, members_add(&members, 7, 1), NOW_NS, false);
    unprobed_add_candidate(&unprobed, &members, members_add(&members, 8, 1), NOW_NS, false);
    look(NOW_NS + NS_PER_MS);
    assert_int_equal(members.unprobed_count, 0);
    members_end(&members, members_find(&members, 8), 1);
    look(NOW_NS + 30 * NS_PER_MS);
    look(NOW_NS + 60 * NS_PER_MS);
    assert_int_equal(members.unprobed_count, 1);
    assert_int_equal(found, 7); /* once */
    look(NOW_NS + 2 * NS_PER_S);
    assert_int_equal(unprobed.count, 0);
    assert_int_equal(members.unprobed_count, 1);
}

static void large_and_damaged_frames_are_skipped(void **state)
{
    (void)state;
    size_t size = 300 << 10;
    char *large = test_malloc(size);
    memset(large, 'x', size);
    unprobed_add_candidate(&unprobed, &members, members_add(&members, 7, 1), NOW_NS, false);
    spool_writer_add_image(&writer, &(struct image_record){ .pid = 6, .time_ns = NOW_NS, .args = { large, size } });
    spool_writer_flush(&writer);
    assert_int_equal(write(writer.fd, "SndS garbage", 12), 12);
    write_image(7, NOW_NS + 1);
    test_free(large);
    look(NOW_NS + 2);
    look(NOW_NS + 3);
    assert_int_equal(unprobed.count, 0);
}

static void candidates_that_do_not_fit_are_unprobed(void **state)
{
    (void)state;
    for (uint32_t pid = 1; pid <= UNPROBED_CANDIDATES_MAX + 5; pid++)
        unprobed_add_candidate(&unprobed, &members, members_add(&members, pid, 0), NOW_NS, false);
    assert_int_equal(members.unprobed_count, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_notice_marks_a_process_unprobed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_early_notice_is_kept_until_the_fork_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(notices_that_do_not_fit_are_read_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(records_before_the_notice_do_not_count, set_up, tear_down),
        cmocka_unit_test_setup_teardown(records_after_the_mark_are_read_next_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(copies_of_the_previous_image_stay_unprobed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unprobed_while_we_were_stopped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_probe_record_means_probed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_complete_exec_record_means_probed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(records_before_the_mark_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(copies_are_resolved_with_their_parent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_record_a_process_is_unprobed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_and_damaged_frames_are_skipped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(candidates_that_do_not_fit_are_unprobed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
