/* Which job a program counts for: by the cgroup of its process, by the job it names, but never for another user. The
 * processes are a captured /proc. */
#include "base/clock.h"
#include "appmetrics/registry.h"
#include "appmetrics/program_jobs.h"
#include "appmetrics/program_samples.h"

#include "tools/temp.h"
#include "tools/unit.h"

#define ADA 1001
#define BOB 1002

static char root[TEMP_PATH_MAX];
static struct registry *registry;
static struct program_jobs jobs;

static void begin_job(const char *id, uint32_t uid, const char *user)
{
    struct job job = { .id = id, .other_id = "", .source = "slurm", .user = user, .uid = uid, .cgroup = "" };
    program_jobs_update(&jobs, registry, &job, JOB_BEGIN);
}

static void write_process(int pid, const char *file, const char *text)
{
    char path[TEMP_PATH_MAX], name[64];
    snprintf(name, sizeof name, "proc/%d/%s", pid, file);
    temp_join(path, root, name);
    temp_write(path, text, strlen(text));
}

/* Process 100 is ada's, in her job 1; 200 is bob's, in his job 2; 300 is bob's, in none. */
static int open_all(void **state)
{
    (void)state;
    temp_dir(root);
    if (registry_open(&registry, &(struct registry_settings){ .host = "n1", .is_by_user = true }))
        return 1;
    jobs = (struct program_jobs){ .root = root };
    begin_job("1", ADA, "ada");
    begin_job("2", BOB, "bob");
    write_process(100, "status", "Name:\ta\nUid:\t1001\t1001\t1001\t1001\n");
    write_process(100, "cgroup", "4:memory:/slurm/uid_1001/job_1/step_0/task_0\n");
    write_process(200, "status", "Name:\tb\nUid:\t1002\t1002\t1002\t1002\n");
    write_process(200, "cgroup", "4:memory:/slurm/uid_1002/job_2/step_0/task_0\n");
    write_process(300, "status", "Name:\tb\nUid:\t1002\t1002\t1002\t1002\n");
    write_process(300, "cgroup", "4:memory:/\n");
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    program_jobs_clear(&jobs);
    registry_close(&registry);
    temp_remove(root);
    return 0;
}

/* "1/1001": job and user; "-/1001": a user without a job. */
static const char *counts_for(pid_t pid, uint32_t uid, const char *named)
{
    static char text[64];
    enum program_job_source source;
    const struct program_claim claim = { .pid = pid, .uid = uid, .job = named };
    const struct scope *scope = program_jobs_scope(&jobs, registry, &claim, &source);
    assert_non_null(scope);
    snprintf(text, sizeof text, "%s/%u%s", scope->id ? scope->id : "-", scope->uid,
             source == PROGRAM_JOB_REFUSED ? " refused" : "");
    return text;
}

static void process_counts_for_the_job_of_its_cgroup(void **state)
{
    (void)state;
    assert_string_equal(counts_for(100, ADA, ""), "1/1001");
    assert_string_equal(counts_for(200, BOB, "elsewhere"), "2/1002"); /* the kernel knows better */
    assert_string_equal(counts_for(300, BOB, ""), "-/1002");
    assert_string_equal(counts_for(300, BOB, "2"), "2/1002");
}

static void pid_of_another_user_is_ignored(void **state)
{
    (void)state;
    assert_string_equal(counts_for(100, BOB, ""), "-/1002");
    assert_string_equal(counts_for(100, BOB, "2"), "2/1002");
    assert_string_equal(counts_for(100, BOB, "1"), "-/1002 refused");
    assert_string_equal(counts_for(400, BOB, ""), "-/1002"); /* no such process */
}

static void root_may_report_for_all(void **state)
{
    (void)state;
    assert_string_equal(counts_for(100, 0, ""), "1/1001");
    assert_string_equal(counts_for(0, 0, "2"), "2/1002");
}

static void declare(const struct job *facts, enum job_event event)
{
    struct job job = *facts;
    job.other_id = job.user = "";
    job.source = job.source ? job.source : "told";
    job.cgroup = job.cgroup ? job.cgroup : "";
    program_jobs_update(&jobs, registry, &job, event);
}

static void write_parent(int pid, int parent, unsigned start)
{
    char text[128];
    snprintf(text, sizeof text, "%d (a b) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %u 0 0\n", pid, parent, start);
    write_process(pid, "stat", text);
}

static void declared_job_has_the_processes_of_its_cgroup(void **state)
{
    (void)state;
    write_process(300, "cgroup", "4:memory:/\n0::/night/shift/x\n");
    assert_string_equal(counts_for(300, BOB, "named"), "named/1002");
    declare(&(struct job){ .id = "night", .uid = BOB, .cgroup = "/night" }, JOB_BEGIN);
    assert_string_equal(counts_for(300, BOB, "named"), "night/1002");
    declare(&(struct job){ .id = "deeper", .uid = BOB, .cgroup = "/night/shift" }, JOB_BEGIN);
    assert_string_equal(counts_for(300, BOB, ""), "deeper/1002");
    assert_string_equal(counts_for(300, ADA, ""), "-/1001"); /* no process of hers */
    assert_int_equal(jobs.cgroup_count, 2);
    declare(&(struct job){ .id = "deeper", .uid = BOB }, JOB_END);
    assert_string_equal(counts_for(300, BOB, ""), "night/1002");
    assert_int_equal(jobs.cgroup_count, 1);
}

static void declared_job_has_the_descendants_of_its_process(void **state)
{
    (void)state;
    write_parent(300, 290, 900);
    write_parent(290, 280, 800);
    write_parent(280, 1, 700);
    declare(&(struct job){ .id = "night", .uid = ADA, .pid = 280 }, JOB_BEGIN);
    assert_string_equal(counts_for(300, BOB, ""), "night/1001"); /* an administrator may declare that */
    declare(&(struct job){ .id = "nearer", .uid = BOB, .pid = 290 }, JOB_BEGIN);
    assert_string_equal(counts_for(300, BOB, ""), "nearer/1002");
    write_parent(290, 280, 8000); /* the pid is another process's now */
    assert_string_equal(counts_for(300, BOB, ""), "night/1001");
}

static void run_has_no_programs_of_other_users(void **state)
{
    (void)state;
    write_parent(300, 280, 900);
    write_parent(280, 1, 700);
    declare(&(struct job){ .id = "hers", .source = "run", .uid = ADA, .pid = 280 }, JOB_BEGIN);
    assert_string_equal(counts_for(300, BOB, ""), "-/1002");
    assert_string_equal(counts_for(300, 0, ""), "hers/1001");
}

static void step_counts_for_its_job_but_a_name_with_a_dash_does_not(void **state)
{
    (void)state;
    assert_string_equal(counts_for(0, BOB, "2-0"), "2/1002");
    assert_string_equal(counts_for(0, BOB, "2-batch"), "2/1002");
    assert_string_equal(counts_for(0, BOB, "2-extern"), "2/1002");
    assert_string_equal(counts_for(0, BOB, "2-x"), "2-x/1002");
    assert_string_equal(counts_for(0, BOB, "2-"), "2-/1002");
    assert_string_equal(counts_for(0, BOB, "2-0x"), "2-0x/1002");
    declare(&(struct job){ .id = "build", .uid = BOB }, JOB_BEGIN);
    assert_string_equal(counts_for(0, BOB, "build"), "build/1002");
    assert_string_equal(counts_for(0, BOB, "build-2"), "build-2/1002");
    declare(&(struct job){ .id = "4711", .uid = BOB }, JOB_BEGIN); /* by a prolog */
    assert_string_equal(counts_for(0, BOB, "4711-0"), "4711/1002");
}

static void ended_program_is_in_the_job_of_its_parent(void **state)
{
    enum program_job_source source;
    (void)state;
    const struct program_claim bobs = { .parent = 200, .uid = BOB, .job = "" }, adas = { .parent = 200, .uid = ADA, .job = "" };
    assert_string_equal(program_jobs_scope(&jobs, registry, &bobs, &source)->id, "2");
    assert_null(program_jobs_scope(&jobs, registry, &adas, &source)->id);
}

static void job_moves_to_its_user_when_known(void **state)
{
    (void)state;
    write_process(300, "cgroup", "0::/night\n");
    declare(&(struct job){ .id = "night", .uid = UINT32_MAX, .cgroup = "/night" }, JOB_BEGIN);
    counts_for(300, BOB, "");
    struct program_job_check check = { jobs.changes, 0 };
    declare(&(struct job){ .id = "night", .uid = BOB, .cgroup = "/night" }, JOB_CHANGE);
    assert_false(scopes_find_job(&registry->scopes, "night", UINT32_MAX)->job.is_known); /* it is dropped with its programs, */
    assert_true(program_jobs_have_changed(&jobs, 1, &check));                    /* which are looked up again */
    assert_string_equal(counts_for(300, BOB, ""), "night/1002");
}

/* A program in a job is looked up again when a job is declared, else now and then while jobs have cgroups; not if it has
 * named the job. */
static void program_in_a_job_is_checked_again(void **state)
{
    (void)state;
    struct scope *scope = scopes_job(&registry->scopes, "1", ADA);
    struct program_job_check check = { jobs.changes, 1 };
    scope->job.is_known = true;
    assert_false(program_jobs_must_check(&jobs, scope, PROGRAM_JOB_BY_KERNEL, 10 * NS_PER_S, &check));
    declare(&(struct job){ .id = "night", .uid = ADA, .cgroup = "/night" }, JOB_BEGIN);
    assert_false(program_jobs_must_check(&jobs, scope, PROGRAM_JOB_BY_NAME, 1, &check));
    assert_true(program_jobs_must_check(&jobs, scope, PROGRAM_JOB_BY_KERNEL, 1, &check));
    assert_false(program_jobs_must_check(&jobs, scope, PROGRAM_JOB_BY_KERNEL, 4 * NS_PER_S, &check));
    assert_true(program_jobs_must_check(&jobs, scope, PROGRAM_JOB_BY_KERNEL, 6 * NS_PER_S, &check));
    scope->job.is_known = false; /* it has ended, or only programs have named it */
    assert_true(program_jobs_must_check(&jobs, scope, PROGRAM_JOB_BY_NAME, 7 * NS_PER_S, &check));
}

static void name_jobs(uint32_t uid, size_t count)
{
    char id[32];
    for (size_t i = 0; i < count; i++) {
        snprintf(id, sizeof id, "told.%zu", i);
        counts_for(0, uid, id);
    }
}

static void jobs_named_by_a_user_are_limited(void **state)
{
    (void)state;
    name_jobs(BOB, SCOPE_JOBS_MAX);
    assert_int_equal(registry->stats.left_out, 0);
    assert_string_equal(counts_for(0, BOB, "one more"), "-/1002");
    assert_int_equal(registry->stats.left_out, 1);
    assert_string_equal(counts_for(0, BOB, "told.7"), "told.7/1002"); /* it exists */
    assert_string_equal(counts_for(0, BOB, "2"), "2/1002");           /* the agent knows it */
    assert_string_equal(counts_for(0, ADA, "hers"), "hers/1001");     /* other users are not affected */
    registry_drop_scope(registry, scopes_find_job(&registry->scopes, "told.7", BOB));
    registry_drop_scope(registry, scopes_find_job(&registry->scopes, "told.9", BOB));
    assert_string_equal(counts_for(0, BOB, "one more"), "one more/1002");
}

static void count_in(struct scope *scope, double value)
{
    struct program_metric *metric;
    struct metric_description description = { .name = bytes_of("x_total"), .kind = PROGRAM_COUNTER, .scope = scope };
    assert_int_equal(registry_metric(registry, &description, &metric), OK);
    assert_true(cell_add(registry_cell(registry, metric, scope), value, 1));
}

/* Samples of job 9 that are written now. */
static size_t samples_of_9(void)
{
    struct batch batch;
    size_t count = 0;
    batch_init(&batch);
    program_samples_add(registry, &batch, 1);
    for (size_t i = 0; i < batch.count; i++)
        count += batch.samples[i].job && strcmp(batch.samples[i].job, "9") == 0;
    batch_clear(&batch);
    return count;
}

/* The program may never count again. */
static void values_from_before_a_job_was_known_are_sampled(void **state)
{
    (void)state;
    enum program_job_source source;
    const struct program_claim claim = { .pid = 300, .uid = BOB, .job = "9" };
    count_in(program_jobs_scope(&jobs, registry, &claim, &source), 5);
    assert_int_equal(samples_of_9(), 0);
    begin_job("9", BOB, "bob");
    assert_int_equal(samples_of_9(), 1);
    begin_job("9", BOB, "bob"); /* nothing has changed */
    assert_int_equal(samples_of_9(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(process_counts_for_the_job_of_its_cgroup), TEST(pid_of_another_user_is_ignored), TEST(root_may_report_for_all),
        TEST(jobs_named_by_a_user_are_limited), TEST(declared_job_has_the_processes_of_its_cgroup),
        TEST(declared_job_has_the_descendants_of_its_process), TEST(run_has_no_programs_of_other_users),
        TEST(step_counts_for_its_job_but_a_name_with_a_dash_does_not), TEST(ended_program_is_in_the_job_of_its_parent),
        TEST(job_moves_to_its_user_when_known), TEST(program_in_a_job_is_checked_again),
        TEST(values_from_before_a_job_was_known_are_sampled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
