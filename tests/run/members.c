/* The table of the job's processes against a plain list. */
#include "run/members.h"

#include "tools/unit.h"

static void a_process_ends_with_its_last_thread(void **state)
{
    (void)state;
    struct run_members members;
    members_init(&members);
    struct run_member *member = members_add(&members, 100, 1);
    member->threads += 2;
    members_end_thread(&members, member, 10);
    members_end_thread(&members, member, 20);
    assert_int_equal(members.alive, 1);
    members_end_thread(&members, member, 30);
    assert_int_equal(members.alive, 0);
    assert_int_equal(member->ended_ns, 30);
    members_end_thread(&members, member, 40); /* one too many changes nothing */
    assert_int_equal(members.alive, 0);
    assert_int_equal(member->ended_ns, 30);
    members_clear(&members);
}

static void ended_processes_are_kept_for_a_while(void **state)
{
    (void)state;
    struct run_members members;
    members_init(&members);
    members_end(&members, members_add(&members, 7, 1), 1000);
    members_add(&members, 8, 7);
    members_forget(&members, 1000);
    assert_non_null(members_find(&members, 7));
    members_forget(&members, 1001);
    assert_null(members_find(&members, 7));
    assert_non_null(members_find(&members, 8));
    members_clear(&members);
}

static void a_pid_may_be_reused(void **state)
{
    (void)state;
    struct run_members members;
    members_init(&members);
    members_end(&members, members_add(&members, 7, 1), 1000);
    struct run_member *again = members_add(&members, 7, 2);
    assert_int_equal(again->ppid, 2);
    assert_int_equal(again->threads, 1);
    assert_int_equal(members.used, 1);
    assert_int_equal(members.alive, 1);
    members_add(&members, 7, 3); /* the end of the second was not reported */
    assert_int_equal(members.alive, 1);
    members_clear(&members);
}

static void an_empty_table_finds_nothing(void **state)
{
    (void)state;
    struct run_members members;
    members_init(&members);
    size_t at = 0;
    assert_null(members_find(&members, 1));
    assert_null(members_find(&members, 0));
    assert_null(members_next(&members, &at));
    members_remove(&members, 1);
    members_forget(&members, 1);
    members_clear(&members);
}

#define PIDS 3000

/* 0: unknown, 1: alive, 2: ended */
static void check(const struct run_members *members, const unsigned char *truth)
{
    size_t used = 0, alive = 0, at = 0, walked = 0;
    for (uint32_t pid = 1; pid < PIDS; pid++) {
        const struct run_member *member = members_find(members, pid);
        assert_int_equal(member != NULL, truth[pid] != 0);
        assert_true(!member || (member->threads > 0) == (truth[pid] == 1));
        used += truth[pid] != 0;
        alive += truth[pid] == 1;
    }
    while (members_next(members, &at))
        walked++;
    assert_int_equal(members->used, used);
    assert_int_equal(members->alive, alive);
    assert_int_equal(walked, used);
}

static void the_table_agrees_with_a_list_through_many_changes(void **state)
{
    (void)state;
    static unsigned char truth[PIDS];
    struct run_members members;
    members_init(&members);
    srand(7);
    for (int i = 0; i < 60000; i++) {
        uint32_t pid = 1 + (uint32_t)rand() % (PIDS - 1);
        int what = rand() % 100;
        if (what < 55 || (what < 60 && i < 30000)) {
            assert_non_null(members_add(&members, pid, 1));
            truth[pid] = 1;
        } else if (what < 80) {
            if (members_find(&members, pid) && truth[pid] == 1) {
                members_end(&members, members_find(&members, pid), (uint64_t)i);
                truth[pid] = 2;
            }
        } else if (what < 99) {
            members_remove(&members, pid);
            truth[pid] = 0;
        } else {
            members_forget(&members, UINT64_MAX);
            for (uint32_t other = 1; other < PIDS; other++)
                truth[other] = truth[other] == 2 ? 0 : truth[other];
        }
        if (i % 997 == 0)
            check(&members, truth);
    }
    check(&members, truth);
    members_clear(&members);
}

static void an_emptied_table_frees_its_memory(void **state)
{
    (void)state;
    struct run_members members;
    members_init(&members);
    for (uint32_t pid = 1; pid <= 20000; pid++)
        members_end(&members, members_add(&members, pid, 1), 1);
    size_t large = members.capacity;
    members_forget(&members, 2);
    assert_int_equal(members.used, 0);
    assert_true(members.capacity < large / 16);
    members_clear(&members);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_ends_with_its_last_thread),
        cmocka_unit_test(ended_processes_are_kept_for_a_while),
        cmocka_unit_test(a_pid_may_be_reused),
        cmocka_unit_test(an_empty_table_finds_nothing),
        cmocka_unit_test(the_table_agrees_with_a_list_through_many_changes),
        cmocka_unit_test(an_emptied_table_frees_its_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
