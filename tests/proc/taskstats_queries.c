/* Queries of tasks: hand-made answers, and live about ourselves. */
#include "proc/taskstats_queries.h"

#include "base/clock.h"
#include "proc/genetlink.h"
#include "proc/taskstats.h"
#include "tools/as_user.h"
#include "tools/burn.h"
#include "tools/unit.h"

#include <linux/taskstats.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAMILY 31

struct answers {
    size_t count, last;
    struct bytes stats;
    uint64_t cpu_ns[64];
};

static void note(void *context, size_t place, struct bytes stats)
{
    struct answers *answers = context;
    struct taskstats_usage usage;
    static const struct taskstats_accounting accounting = { 0 };
    answers->count++;
    answers->last = place;
    answers->stats = stats;
    if (taskstats_extract(stats, &accounting, &usage) == OK && place < 64)
        answers->cpu_ns[place] = usage.value[TASKSTATS_cpu_run_virtual_total];
}

static char memory[4096];
static size_t size;

static void add(const void *data, size_t data_size)
{
    memcpy(memory + size, data, data_size);
    size += (data_size + 3) & ~(size_t)3;
}

/* As the kernel does: AGGR_PID around PID and STATS. */
static void add_answer(uint32_t number, uint32_t tid)
{
    struct taskstats stats = { .version = 13, .ac_pid = tid, .cpu_run_virtual_total = 7 * tid };
    struct nlattr outer = { 2 * NLA_HDRLEN + 4 + NLA_HDRLEN + sizeof stats, TASKSTATS_TYPE_AGGR_PID | NLA_F_NESTED },
                  inner = { NLA_HDRLEN + 4, TASKSTATS_TYPE_PID }, data = { NLA_HDRLEN + sizeof stats, TASKSTATS_TYPE_STATS };
    struct nlmsghdr head = { NLMSG_HDRLEN + GENL_HDRLEN + outer.nla_len, FAMILY, 0, number, 0 };
    struct genlmsghdr generic = { .cmd = TASKSTATS_CMD_NEW };
    add(&head, sizeof head);
    add(&generic, sizeof generic);
    add(&outer, sizeof outer);
    add(&inner, sizeof inner);
    add(&tid, sizeof tid);
    add(&data, sizeof data);
    add(&stats, sizeof stats);
}

static void add_refusal(uint32_t number)
{
    struct nlmsghdr head = { NLMSG_HDRLEN + sizeof(struct nlmsgerr), NLMSG_ERROR, 0, number, 0 };
    struct nlmsgerr refusal = { .error = -3 };
    add(&head, sizeof head);
    add(&refusal, sizeof refusal);
}

static struct bytes answered(void)
{
    return (struct bytes){ memory, size };
}

static void answers_are_matched_by_sequence_number(void **state)
{
    (void)state;
    struct answers answers = { 0 };
    size = 0;
    add_answer(UINT32_MAX, 50); /* numbers wrap */
    add_refusal(0);
    add_answer(1, 52);
    add_answer(2, 53); /* to a query that was not sent */
    add_answer(UINT32_MAX - 1, 49);
    taskstats_queries_parse(answered(), FAMILY, UINT32_MAX, 3, note, &answers);
    assert_int_equal(answers.count, 2);
    assert_int_equal(answers.cpu_ns[0], 7 * 50);
    assert_int_equal(answers.cpu_ns[1], 0); /* gone */
    assert_int_equal(answers.cpu_ns[2], 7 * 52);
}

static void other_messages_are_ignored(void **state)
{
    (void)state;
    struct answers answers = { 0 };
    size = 0;
    add_answer(5, 50);
    taskstats_queries_parse(answered(), FAMILY + 1, 5, 1, note, &answers);
    for (size_t cut = 0; cut < size; cut++)
        taskstats_queries_parse((struct bytes){ memory, cut }, FAMILY, 5, 1, note, &answers);
    assert_int_equal(answers.count, 0);
    taskstats_queries_parse(answered(), FAMILY, 5, 1, note, &answers);
    assert_int_equal(answers.count, 1);
    assert_int_equal(answers.stats.size, sizeof(struct taskstats));
}

static void *burn_and_wait(void *barrier)
{
    burn(CLOCK_THREAD_CPUTIME_ID, 30);
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
    return NULL;
}

static void we_can_query_ourselves(void **state)
{
    (void)state;
    struct taskstats_queries queries;
    struct answers answers = { 0 };
    pthread_barrier_t barrier;
    pthread_t thread;
    if (taskstats_queries_open(&queries))
        leave_out("no taskstats here");
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, burn_and_wait, &barrier);
    pthread_barrier_wait(&barrier);
    uint32_t self = (uint32_t)getpid(), ids[200];
    for (size_t i = 0; i < 200; i++)
        ids[i] = i % 2 ? 0x3fffffff : self; /* there is no such pid */
    assert_int_equal(taskstats_queries_run(&queries, TASKSTATS_SUBJECT_THREAD, ids, 200, note, &answers), OK);
    assert_int_equal(answers.count, 100);
    assert_int_equal(answers.last, 198);
    uint64_t main_ns = answers.cpu_ns[0];
    assert_int_equal(taskstats_queries_run(&queries, TASKSTATS_SUBJECT_PROCESS, &self, 1, note, &answers), OK);
    assert_in_range(answers.cpu_ns[0], main_ns + 29 * NS_PER_MS, main_ns + 200 * NS_PER_MS); /* the thread's too */
    assert_int_equal(queries.lost, 0);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    taskstats_queries_close(&queries);
}

static int open_one(void)
{
    struct taskstats_queries queries;
    return (int)taskstats_queries_open(&queries);
}

static void a_user_is_denied(void **state)
{
    (void)state;
    if (getuid() != 0)
        leave_out("needs root");
    int status = as_user(open_one);
    assert_true(status == DENIED || status == ABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_matched_by_sequence_number),
        cmocka_unit_test(other_messages_are_ignored),
        cmocka_unit_test(we_can_query_ourselves),
        cmocka_unit_test(a_user_is_denied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
