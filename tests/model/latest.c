/* The latest samples: updated, found, dropped; also with many entries. */
#include "model/latest.h"

#include "base/clock.h"
#include "tools/unit.h"

#include <malloc.h>
#include <unistd.h>

static const struct metric metrics[] = {
    { "bytes", "B", COUNTER, U64, "bytes", "rx_bytes" },
    { "load", "1", GAUGE, F64, "load" },
};
static const struct set net = { "net", metrics, 2 }, disk = { "disk", metrics, 1 };

struct fixture {
    struct latest *live;
    struct batch batch;
};

static int begin(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    batch_init(&f->batch);
    *state = f;
    return latest_open(&f->live);
}

static int end(void **state)
{
    struct fixture *f = *state;
    latest_close(&f->live);
    latest_close(&f->live);
    batch_clear(&f->batch);
    free(f);
    return 0;
}

static void add(struct fixture *f, const struct set *set, const char *job, const char *instance, uint64_t value)
{
    struct sample *sample = batch_add(&f->batch, set, 1000 + value, instance);
    sample->job = job;
    sample_set_u64(sample, 0, value);
}

static void take(struct fixture *f)
{
    assert_int_equal(latest_update(f->live, &f->batch, 7), OK);
    batch_reset(&f->batch);
}

static const struct latest_entry *find(struct fixture *f, const char *set, const char *job, const char *instance)
{
    const struct latest_entry *entry;
    size_t at = 0;
    while ((entry = latest_next(f->live, &at)))
        if (!strcmp(entry->set->name, set) && !strcmp(entry->instance, instance)
            && (job ? entry->job && !strcmp(entry->job, job) : !entry->job))
            return entry;
    return NULL;
}

static void an_extended_set_replaces_the_old_one(void **state)
{
    struct fixture *f = *state;
    static const struct set longer = { "disk", metrics, 2 };
    add(f, &disk, NULL, "sda", 1);
    add(f, &disk, NULL, "sdb", 1);
    take(f);
    add(f, &longer, NULL, "sda", 2);
    assert_int_equal(latest_update_from(f->live, &f->batch, 7, f), OK); /* of somebody else */
    assert_int_equal(latest_count(f->live), 3);
    latest_drop_source(f->live, f);
    assert_int_equal(latest_update(f->live, &f->batch, 7), OK);
    assert_int_equal(latest_count(f->live), 2);
    assert_int_equal(find(f, "disk", NULL, "sda")->set->size, 2);
    assert_int_equal(find(f, "disk", NULL, "sdb")->set->size, 1);
    batch_reset(&f->batch);
    add(f, &longer, NULL, "sdb", 2);
    take(f);
    assert_int_equal(latest_count(f->live), 2);
    assert_int_equal(find(f, "disk", NULL, "sdb")->set->size, 2);
}

static void the_latest_sample_is_kept(void **state)
{
    struct fixture *f = *state;
    add(f, &net, NULL, "eth0", 1);
    take(f);
    add(f, &net, NULL, "eth0", 5);
    take(f);
    const struct latest_entry *entry = find(f, "net", NULL, "eth0");
    assert_int_equal(latest_count(f->live), 1);
    assert_int_equal(entry->values[0].u64, 5);
    assert_true(entry->known[0] == 1 && entry->known[1] == 0);
    assert_int_equal(entry->first_ns, 1001);
    assert_int_equal(entry->time_ns, 1005);
    assert_int_equal(entry->updates, 2);
    assert_int_equal(entry->period_ns, 7);
    assert_string_equal(entry->set->metrics[0].source, "rx_bytes");
    assert_null(entry->set->metrics[1].source);
}

static void jobs_and_instances_are_distinguished(void **state)
{
    struct fixture *f = *state;
    static const char *const jobs[] = { NULL, "1", "2" };
    for (int round = 0; round < 3; round++) {
        for (unsigned j = 0; j < 3; j++) {
            add(f, &net, jobs[j], "eth0", j * 10);
            add(f, &disk, jobs[j], "sda", j * 10 + 1);
            add(f, &net, jobs[j], "eth1", j * 10 + 2);
        }
        take(f);
    }
    assert_int_equal(latest_count(f->live), 9);
    for (unsigned j = 0; j < 3; j++) {
        assert_int_equal(find(f, "net", jobs[j], "eth0")->values[0].u64, j * 10);
        assert_int_equal(find(f, "disk", jobs[j], "sda")->values[0].u64, j * 10 + 1);
        assert_int_equal(find(f, "net", jobs[j], "eth1")->values[0].u64, j * 10 + 2);
    }
    /* a job that is called "" is not the node */
    add(f, &disk, "", "sda", 99);
    take(f);
    assert_int_equal(find(f, "disk", NULL, "sda")->values[0].u64, 1);
}

static void entries_are_grouped_by_set(void **state)
{
    struct fixture *f = *state;
    add(f, &net, NULL, "a", 1);
    add(f, &disk, NULL, "a", 1);
    add(f, &net, NULL, "b", 1);
    add(f, &disk, NULL, "b", 1);
    take(f);
    size_t at = 0;
    assert_string_equal(latest_next(f->live, &at)->set->name, "net");
    assert_string_equal(latest_next(f->live, &at)->set->name, "net");
    assert_string_equal(latest_next(f->live, &at)->set->name, "disk");
    assert_string_equal(latest_next(f->live, &at)->set->name, "disk");
    assert_null(latest_next(f->live, &at));
}

static void only_the_entries_of_the_job_are_dropped(void **state)
{
    struct fixture *f = *state;
    add(f, &net, "1", "eth0", 1);
    add(f, &net, "2", "eth0", 2);
    add(f, &net, "1", "eth1", 3);
    add(f, &disk, "1", "sda", 4);
    add(f, &net, NULL, "eth0", 5);
    take(f);
    latest_drop_job(f->live, "1");
    latest_drop_job(f->live, "no such job");
    assert_int_equal(latest_count(f->live), 2);
    assert_int_equal(find(f, "net", "2", "eth0")->values[0].u64, 2);
    assert_int_equal(find(f, "net", NULL, "eth0")->values[0].u64, 5);
    add(f, &net, "1", "eth0", 6);
    take(f);
    assert_int_equal(find(f, "net", "1", "eth0")->first_ns, 1006);
}

static void take_as_whole(struct fixture *f, const void *source)
{
    uint64_t since_ns = clock_monotonic_ns();
    assert_int_equal(latest_update_from(f->live, &f->batch, 7, source), OK);
    batch_reset(&f->batch);
    latest_drop_missing(f->live, source, since_ns);
}

/* A process that has ended, a device that was removed. */
static void missing_entries_are_dropped(void **state)
{
    struct fixture *f = *state;
    int here, there;
    add(f, &net, NULL, "old", 1);
    add(f, &net, NULL, "new", 5);
    add(f, &disk, NULL, "a", 1);
    take_as_whole(f, &here);
    add(f, &net, "1", "of another", 1);
    take_as_whole(f, &there);
    assert_int_equal(latest_count(f->live), 4);
    add(f, &net, NULL, "new", 6);
    add(f, &net, NULL, "newer", 6); /* as many as before */
    take_as_whole(f, &here);
    assert_null(find(f, "net", NULL, "old"));
    assert_non_null(find(f, "net", NULL, "new"));
    assert_non_null(find(f, "net", NULL, "newer"));
    assert_non_null(find(f, "net", "1", "of another"));
    assert_null(find(f, "disk", NULL, "a")); /* a set of which nothing is left */
    assert_int_equal(latest_count(f->live), 3);
}

static void the_entries_of_a_source_are_dropped(void **state)
{
    struct fixture *f = *state;
    int here, there;
    add(f, &net, NULL, "new", 5);
    take(f);
    add(f, &disk, NULL, "a", 1);
    assert_int_equal(latest_update_from(f->live, &f->batch, 7, &here), OK);
    batch_reset(&f->batch);
    add(f, &disk, NULL, "b", 1);
    assert_int_equal(latest_update_from(f->live, &f->batch, 7, &there), OK);
    latest_drop_source(f->live, &here);
    assert_null(find(f, "disk", NULL, "a"));
    assert_int_equal(latest_count(f->live), 2);
}

static void entries_without_updates_become_stale(void **state)
{
    struct fixture *f = *state;
    add(f, &net, NULL, "quick", 1);
    assert_int_equal(latest_update(f->live, &f->batch, 1000), OK);
    batch_reset(&f->batch);
    add(f, &net, NULL, "slow", 1);
    assert_int_equal(latest_update(f->live, &f->batch, 3600000000000), OK);
    usleep(2000);
    latest_drop_stale(f->live, 3, 3600000000000);
    assert_int_equal(latest_count(f->live), 2);
    latest_drop_stale(f->live, 3, 0);
    assert_int_equal(latest_count(f->live), 1);
    assert_non_null(find(f, "net", NULL, "slow"));
}

static void entries_missing_in_a_partial_batch_are_not_stale(void **state)
{
    struct fixture *f = *state;
    int here, there;
    add(f, &net, NULL, "seldom", 1);
    assert_int_equal(latest_update_from(f->live, &f->batch, 1000, &here), OK);
    batch_reset(&f->batch);
    add(f, &net, NULL, "of another", 1);
    assert_int_equal(latest_update_from(f->live, &f->batch, 1000, &there), OK);
    usleep(50000);
    latest_refresh_source(f->live, &here);
    latest_drop_stale(f->live, 1, 40000000);
    assert_non_null(find(f, "net", NULL, "seldom"));
    assert_int_equal(latest_count(f->live), 1);
}

/* A sampler that allocates its set frees it when it is closed; the next one can get the same address. */
static void sets_can_be_freed_and_allocated_again(void **state)
{
    struct fixture *f = *state;
    struct set *set = malloc(sizeof *set);
    *set = net;
    add(f, set, NULL, "x", 1);
    take(f);
    *set = (struct set){ net.name, (struct metric[]){ { "other", "J", GAUGE, U64, "energy" } }, 1 };
    latest_forget_addresses(f->live);
    add(f, set, NULL, "y", 2);
    take(f);
    free(set);
    assert_int_equal(latest_count(f->live), 2);
    size_t at = 0;
    assert_string_equal(latest_next(f->live, &at)->set->metrics[0].name, "bytes");
    assert_string_equal(latest_next(f->live, &at)->set->metrics[0].name, "other");
}

#define MANY 100000

static void fill_many(struct fixture *f, char (*names)[16])
{
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof *names, "%u", i);
        add(f, i % 3 ? &net : &disk, names[i / 20], names[i], i);
    }
}

static void many_updates_do_not_allocate(void **state)
{
    struct fixture *f = *state;
    char(*names)[16] = calloc(MANY, sizeof *names);
    fill_many(f, names);
    assert_int_equal(latest_update(f->live, &f->batch, 1), OK);
    assert_int_equal(latest_count(f->live), MANY);
    struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < 3; i++)
        assert_int_equal(latest_update(f->live, &f->batch, 1), OK);
    struct mallinfo2 after = mallinfo2();
    assert_int_equal(before.uordblks, after.uordblks);
    assert_int_equal(before.hblkhd, after.hblkhd);
    uint64_t sum = 0;
    const struct latest_entry *entry;
    for (size_t at = 0; (entry = latest_next(f->live, &at));) {
        assert_int_equal(entry->updates, 4);
        sum += entry->values[0].u64;
    }
    assert_int_equal(sum, (uint64_t)MANY * (MANY - 1) / 2);
    for (unsigned i = 0; i < MANY / 20; i += 2)
        latest_drop_job(f->live, names[i]);
    assert_int_equal(latest_count(f->live), MANY / 2);
    assert_null(find(f, "net", names[0], names[1]));
    assert_int_equal(find(f, "net", names[1], names[25])->values[0].u64, 25);
    free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_latest_sample_is_kept, begin, end),
        cmocka_unit_test_setup_teardown(an_extended_set_replaces_the_old_one, begin, end),
        cmocka_unit_test_setup_teardown(jobs_and_instances_are_distinguished, begin, end),
        cmocka_unit_test_setup_teardown(entries_are_grouped_by_set, begin, end),
        cmocka_unit_test_setup_teardown(only_the_entries_of_the_job_are_dropped, begin, end),
        cmocka_unit_test_setup_teardown(missing_entries_are_dropped, begin, end),
        cmocka_unit_test_setup_teardown(the_entries_of_a_source_are_dropped, begin, end),
        cmocka_unit_test_setup_teardown(entries_without_updates_become_stale, begin, end),
        cmocka_unit_test_setup_teardown(entries_missing_in_a_partial_batch_are_not_stale, begin, end),
        cmocka_unit_test_setup_teardown(sets_can_be_freed_and_allocated_again, begin, end),
        cmocka_unit_test_setup_teardown(many_updates_do_not_allocate, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
