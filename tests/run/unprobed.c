/* Who is taken for dark, and who is not: by the bell, and by what the spool says. */
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

static void ring(uint32_t pid, uint64_t time_ns)
{
    struct probe_notice one = { .time_ns = time_ns, .pid = pid };
    int fd = open(notices, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_int_equal(write(fd, &one, sizeof one), sizeof one);
    close(fd);
}

static void who_rings_is_dark(void **state)
{
    (void)state;
    members_add(&members, 7, 1);
    members_add(&members, 8, 1);
    members_add(&members, 9, 1);
    ring(7, NOW_NS);
    ring(9, NOW_NS);
    ring(11, NOW_NS); /* nobody of ours */
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

/* It was made after the forks were read: the next reading tells of it. */
static void who_rings_before_it_is_known_is_dark(void **state)
{
    (void)state;
    ring(7, NOW_NS);
    unprobed_read_notices(&unprobed);
    unprobed_apply_notices(&unprobed, &members, false);
    assert_int_equal(members.unprobed_count, 0);
    members_add(&members, 7, 1);
    unprobed_apply_notices(&unprobed, &members, true);
    assert_int_equal(members.unprobed_count, 1);
    assert_int_equal(unprobed.notice_count, 0);
}

static void what_finds_no_place_is_heard_later(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < UNPROBED_NOTICES_MAX + 1; i++)
        ring(7 + i, NOW_NS);
    unprobed_read_notices(&unprobed);
    unprobed_read_notices(&unprobed);
    assert_int_equal(unprobed.notice_count, UNPROBED_NOTICES_MAX);
    unprobed_apply_notices(&unprobed, &members, true);
    members_add(&members, 7 + UNPROBED_NOTICES_MAX, 1);
    unprobed_read_notices(&unprobed);
    unprobed_apply_notices(&unprobed, &members, true);
    assert_int_equal(members.unprobed_count, 1);
}

/* It executed a program with the probe, which rang at once for the one without that it is about to become. */
static void what_was_said_before_the_bell_is_no_answer(void **state)
{
    (void)state;
    unprobed_add_candidate(&unprobed, &members, members_add(&members, 7, 1), NOW_NS, false);
    write_image(7, NOW_NS + 1);
    ring(7, NOW_NS + 2);
    unprobed_read_notices(&unprobed);
    unprobed_apply_notices(&unprobed, &members, true);
    look(NOW_NS + 3);
    assert_int_equal(members.unprobed_count, 1);
    unprobed_add_candidate(&unprobed, &members, members_find(&members, 7), NOW_NS + 4, false);
    write_image(7, NOW_NS + 5);
    look(NOW_NS + 6);
    assert_int_equal(members.unprobed_count, 0);
}

/* An image that came up since: its exec is not read yet, and nobody has asked. */
static void what_came_after_the_mark_is_read_next_time(void **state)
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

static void copies_of_what_it_was_before_stay_dark(void **state)
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

static void who_was_silent_while_we_were_stopped_is_dark(void **state)
{
    (void)state;
    unprobed_add_candidate(&unprobed, &members, members_add(&members, 7, 1), NOW_NS, false);
    look(NOW_NS + 5 * NS_PER_S);
    assert_int_equal(found, 7);
    assert_int_equal(members.unprobed_count, 1);
    assert_int_equal(unprobed.count, 0);
}

static void of_whom_the_probe_speaks_is_not(void **state)
{
    (void)state;
    struct run_member *member = members_add(&members, 7, 1);
    members_set_unprobed(&members, member, true);
    unprobed_add_candidate(&unprobed, &members, member, NOW_NS, false);
    write_image(8, NOW_NS + 1);
    write_image(7, NOW_NS - 1); /* of what it was before */
    look(NOW_NS + 2);
    assert_int_equal(members.unprobed_count, 1);
    write_image(7, NOW_NS + 1);
    look(NOW_NS + 2);
    assert_int_equal(members.unprobed_count, 0);
    assert_int_equal(unprobed.count, 0);
}

/* Who executes it speaks before the kernel does; its word is about that exec, and no later one. */
static void who_was_told_of_before_is_not(void **state)
{
    (void)state;
    write_exec(7, NOW_NS - 1, RECORD_EXEC_COPIED);
    unprobed_add_candidate(&unprobed, &members, members_add(&members, 7, 1), NOW_NS, false);
    look(NOW_NS + 1);
    assert_int_equal(unprobed.count, 1); /* it did not tell all: the image will speak */
    write_exec(7, NOW_NS - 1, RECORD_EXEC_WHOLE);
    look(NOW_NS + 2);
    assert_int_equal(unprobed.count, 0);
    unprobed_add_candidate(&unprobed, &members, members_find(&members, 7), NOW_NS + 3 * NS_PER_S, false); /* past us */
    look(NOW_NS + 4 * NS_PER_S);
    assert_int_equal(found, 7);
}

/* Told before the mark, executed behind it: nobody has asked when the mark is passed. */
static void what_was_told_before_the_mark_is_found(void **state)
{
    (void)state;
    struct run_member *member = members_add(&members, 7, 1);
    members_add(&members, 8, 1);
    for (int is_candidate = 0; is_candidate < 2; is_candidate++) {
        uint64_t now_ns = NOW_NS + (uint64_t)is_candidate * NS_PER_S;
        if (is_candidate) /* somebody else's answer is waited for meanwhile */
            unprobed_add_candidate(&unprobed, &members, members_find(&members, 8), now_ns, false);
        look(now_ns);
        write_exec(7, now_ns + 1, RECORD_EXEC_WHOLE);
        look(now_ns + 2);
        unprobed_add_candidate(&unprobed, &members, member, now_ns + 3, false);
        look(now_ns + 4);
        assert_int_equal(unprobed.count, is_candidate);
    }
}

static void its_copies_are_as_it_is(void **state)
{
    (void)state;
    for (uint32_t pid = 5; pid < 9; pid++) { /* each the child of the one before */
        members_set_unprobed(&members, members_add(&members, pid, pid - 1), true);
        unprobed_add_candidate(&unprobed, &members, members_find(&members, pid), NOW_NS, pid > 5);
    }
    members_set_unprobed(&members, members_add(&members, 20, 19), true); /* of another one that is dark */
    unprobed_add_candidate(&unprobed, &members, members_find(&members, 20), NOW_NS, true);
    write_image(5, NOW_NS + 1);
    look(NOW_NS + 2);
    assert_int_equal(members.unprobed_count, 1);
    assert_true(members_find(&members, 20)->is_unprobed);
}

static void who_stays_silent_is_dark(void **state)
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

static void large_and_damaged_frames_are_stepped_over(void **state)
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

static void who_does_not_fit_is_taken_for_dark(void **state)
{
    (void)state;
    for (uint32_t pid = 1; pid <= UNPROBED_CANDIDATES_MAX + 5; pid++)
        unprobed_add_candidate(&unprobed, &members, members_add(&members, pid, 0), NOW_NS, false);
    assert_int_equal(members.unprobed_count, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_rings_is_dark, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_rings_before_it_is_known_is_dark, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_finds_no_place_is_heard_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_said_before_the_bell_is_no_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_came_after_the_mark_is_read_next_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(copies_of_what_it_was_before_stay_dark, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_was_silent_while_we_were_stopped_is_dark, set_up, tear_down),
        cmocka_unit_test_setup_teardown(of_whom_the_probe_speaks_is_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_was_told_of_before_is_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_told_before_the_mark_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(its_copies_are_as_it_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_stays_silent_is_dark, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_and_damaged_frames_are_stepped_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_does_not_fit_is_taken_for_dark, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
