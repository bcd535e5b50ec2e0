/* Jobs without processes, with a simulated clock. */
#include "jobs/job_processes.h"

#include "base/clock.h"
#include "tools/jobs_fixture.h"

#define JOB "/sys/fs/cgroup/memory/slurm/uid_1000/job_7"
#define AT(seconds) (1 * NS_PER_S + (seconds) * NS_PER_S)

static struct fixture f;
static struct job_registry registry;
static struct job_entry *entry;

static int setup(void **state)
{
    (void)state;
    fixture_begin_v1(&f);
    fixture_write(&f, JOB "/step_0/cgroup.procs", "100\n");
    registry = (struct job_registry){ .root = f.root, .listener = { fixture_take, &f } };
    users_init(&registry.users, f.root);
    assert_int_equal(hierarchies_read(&registry.hierarchies, f.root), OK);
    entry = job_table_add(&registry.table, "slurm::7");
    job_table_rename(&registry.table, entry, JOB_TABLE_ID, "7");
    entry->job.cgroup = "/slurm/uid_1000/job_7";
    entry->hierarchy_bits = 1u << registry.hierarchies.of[CONTROLLER_MEMORY];
    job_registry_begin(&registry, entry);
    job_processes_check(&registry, entry, AT(0));
    assert_int_equal(fixture_count(&f, "7", JOB_BEGIN), 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    job_table_clear(&registry.table);
    users_clear(&registry.users);
    hierarchies_clear(&registry.hierarchies);
    temp_remove(f.root);
    return 0;
}

static void an_empty_job_ends_once(void **state)
{
    (void)state;
    job_processes_check(&registry, entry, AT(100)); /* while there is a process */
    assert_int_equal(fixture_count(&f, "7", JOB_END), 0);
    fixture_write(&f, JOB "/step_0/cgroup.procs", "");
    job_processes_check(&registry, entry, AT(101));
    job_processes_check(&registry, entry, AT(110));
    assert_int_equal(fixture_count(&f, "7", JOB_END), 0); /* another step may follow */
    job_processes_check(&registry, entry, AT(111));
    assert_int_equal(fixture_count(&f, "7", JOB_END), 1);
    const struct fixture_event *end = fixture_find(&f, "7", JOB_END);
    assert_true(end->end_ns < clock_realtime_ns() - 9 * NS_PER_S); /* when the processes had exited */
    job_processes_check(&registry, entry, AT(200));
    job_registry_begin(&registry, entry);
    assert_int_equal(fixture_count(&f, "7", JOB_BEGIN), 1);
    assert_int_equal(registry.table.running, 0);
}

static void a_new_step_keeps_it_running(void **state)
{
    (void)state;
    fixture_write(&f, JOB "/step_0/cgroup.procs", "");
    job_processes_check(&registry, entry, AT(1));
    fixture_write(&f, JOB "/step_1/cgroup.procs", "101\n");
    job_processes_check(&registry, entry, AT(9));
    fixture_write(&f, JOB "/step_1/cgroup.procs", "");
    job_processes_check(&registry, entry, AT(12));
    job_processes_check(&registry, entry, AT(21));
    assert_int_equal(fixture_count(&f, "7", JOB_END), 0);
}

static void new_processes_resume_it(void **state)
{
    (void)state;
    fixture_write(&f, JOB "/step_0/cgroup.procs", "");
    job_processes_check(&registry, entry, AT(1));
    job_processes_check(&registry, entry, AT(20));
    assert_int_equal(fixture_count(&f, "7", JOB_END), 1);
    fixture_write(&f, JOB "/step_0/cgroup.procs", "102\n");
    job_processes_check(&registry, entry, AT(21));
    assert_int_equal(fixture_count(&f, "7", JOB_BEGIN), 2);
    assert_int_equal(fixture_find(&f, "7", JOB_BEGIN)->end_ns, 0);
}

static void an_explicitly_ended_job_stays_ended(void **state)
{
    (void)state;
    job_registry_end(&registry, entry, clock_realtime_ns(), true);
    job_processes_check(&registry, entry, AT(1));
    assert_int_equal(fixture_count(&f, "7", JOB_BEGIN), 1);
    assert_int_equal(fixture_count(&f, "7", JOB_END), 1);
}

/* An epilog that never runs. */
static void a_declared_job_waits_longer(void **state)
{
    (void)state;
    entry->is_declared = true;
    entry->hierarchy_bits = 0; /* its last cgroup was removed */
    job_processes_check(&registry, entry, AT(1));
    job_processes_check(&registry, entry, AT(60));
    assert_int_equal(fixture_count(&f, "7", JOB_END), 0);
    job_processes_check(&registry, entry, AT(61));
    assert_int_equal(fixture_count(&f, "7", JOB_END), 1);
    assert_int_equal(registry.table.count, 0);
}

/* Processes of another pid namespace are not visible: the kernel writes 0. */
static void processes_of_another_namespace_count(void **state)
{
    (void)state;
    fixture_write(&f, JOB "/step_0/cgroup.procs", "0\n0\n");
    job_processes_check(&registry, entry, AT(1));
    job_processes_check(&registry, entry, AT(100));
    assert_int_equal(fixture_count(&f, "7", JOB_END), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_job_ends_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_step_keeps_it_running, setup, teardown),
        cmocka_unit_test_setup_teardown(new_processes_resume_it, setup, teardown),
        cmocka_unit_test_setup_teardown(an_explicitly_ended_job_stays_ended, setup, teardown),
        cmocka_unit_test_setup_teardown(a_declared_job_waits_longer, setup, teardown),
        cmocka_unit_test_setup_teardown(processes_of_another_namespace_count, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
