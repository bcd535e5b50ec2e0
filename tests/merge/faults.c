/* Merging and submitting while one call fails, each in turn: a clear error, or the same result as without the failure; and a
 * spool is removed only when its run is in the job database. */
#include "merge/submit.h"

#include "merge/survivors.h"
#include "proc/host.h"
#include "tools/faults.h"
#include "tools/merge_fixture.h"
#include "tools/store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* A set with one counter, and samples of two instances. */
static void add_samples(struct spool_maker *s)
{
    uint8_t text[64];
    struct packer p = { text, text + sizeof text, false };
    pack_text(&p, bytes_of("a"));
    pack_text(&p, bytes_of("B"));
    pack_text(&p, bytes_of("help"));
    pack_number(&p, COUNTER);
    pack_number(&p, U64);
    spool_add(s, set, .set = 3, .name = PATH("net"), .size = 1, .metrics = { (char *)text, (size_t)(p.at - text) });
    for (uint64_t i = 0; i < 40; i++) {
        p = (struct packer){ text, text + sizeof text, false };
        pack_number(&p, 1);
        pack_number(&p, i);
        spool_add(s, sample, .set = 3, .instance = i % 2 ? PATH("eth0") : PATH("eth1"), .time_ns = AT((double)i),
                  .values = { (char *)text, (size_t)(p.at - text) });
    }
}

/* Records of every kind that merge reads. */
static void add_records(struct spool_maker *s)
{
    for (uint32_t pid = 10; pid < 14; pid++) {
        uint32_t ppid = pid == 10 ? MAKER_RUN_PID : 10;
        spool_kernel_fork(s, pid, ppid, pid);
        spool_image(s, pid, ppid, pid + 0.5, "/bin/sh");
        spool_add(s, kernel_fork, .pid = pid, .ppid = 10, .tid = pid + 100, .time_ns = AT(pid + 1));
        spool_add(s, thread, .pid = pid, .tid = pid + 100, .start_ns = AT(pid + 1), .end_ns = AT(50), .name = PATH("worker"),
                  .counters = usage_us(30, 0));
        spool_exec(s, pid, pid + 2, "/bin/true", 100);
        spool_image(s, pid, ppid, pid + 3, "/bin/true");
        spool_end(s, pid, 60, 900, 0);
        spool_taskstats(s, pid, 10, pid, 61, 950);
        spool_kernel_exit(s, pid, 61, 0);
        spool_wait(s, ppid, pid, 62, 0, 1000);
    }
    spool_wait(s, 10, 20, 62, 0, 1000);
    spool_image(s, 30, 77, 5, "/bin/orphan");
    add_samples(s);
    spool_run_end(s, 70, 5000);
}

static void assert_same(const struct run *run, const struct run *want)
{
    assert_int_equal(run->process_count, want->process_count);
    assert_int_equal(run->thread_count, want->thread_count);
    assert_int_equal(run->series_count, want->series_count);
    assert_true(bytes_equal(run->id, want->id) && bytes_equal(run->job_id, want->job_id));
    for (size_t i = 0; i < run->process_count; i++) {
        const struct process *one = &run->processes[i], *other = &want->processes[i];
        assert_int_equal(one->pid, other->pid);
        assert_int_equal(one->parent, other->parent);
        assert_int_equal(one->start_ns, other->start_ns);
        assert_int_equal(one->end_ns, other->end_ns);
        assert_int_equal(one->thread_count, other->thread_count);
        assert_true(bytes_equal(one->path, other->path) && bytes_equal(one->args, other->args));
        assert_memory_equal(&one->counters, &other->counters, sizeof one->counters);
    }
    for (size_t i = 0; i < run->thread_count; i++) {
        assert_int_equal(run->threads[i].tid, want->threads[i].tid);
        assert_memory_equal(&run->threads[i].counters, &want->threads[i].counters, sizeof run->threads[i].counters);
    }
    for (size_t i = 0; i < run->series_count; i++)
        assert_int_equal(run->series[i].count, want->series[i].count);
}

static void merge_without_memory(void **state)
{
    struct fixture *f = *state;
    add_records(&f->spool);
    const struct run *want = merge(f);
    assert_true(want->process_count > 6 && want->thread_count > 6 && want->series_count == 2);
    for (int lasts = 0; lasts < 2; lasts++) {
        struct fault fault = { .kind = FAULT_MEMORY, .lasts = lasts };
        while (faults_next(&fault)) {
            struct merged merged;
            enum err err = merge_bytes(&merged, (struct bytes){ f->spool.buf.data, f->spool.buf.size });
            if (!faults_end(&fault))
                assert_int_equal(err, OK);
            if (err == OK)
                assert_same(&merged.run, want);
            else
                assert_int_equal(err, NOMEM);
            merge_clear(&merged);
        }
        assert_true(fault.number > 10);
    }
}

static char dir[TEMP_PATH_MAX], db[TEMP_PATH_MAX], spool[TEMP_PATH_MAX];

static bool is_saved(uint64_t processes)
{
    struct store *store;
    struct store_job job;
    char *message;
    assert_int_equal(store_open(&store, db, STORE_READ, &message), OK);
    enum err err = store_job(store, "job-1", &job);
    if (err == OK) {
        assert_int_equal(job.summary.images, processes);
        store_job_clear(&job);
    } else {
        assert_int_equal(err, ABSENT);
    }
    store_close(&store);
    return err == OK;
}

static enum err submit(void)
{
    struct store *store;
    struct submitted result;
    char *message = NULL;
    enum err err = store_open(&store, db, STORE_WRITE, &message);
    free(message);
    if (err == OK)
        err = submit_spool(store, spool, false, &result);
    store_close(&store);
    return err;
}

static void set_up_files(const struct fixture *f)
{
    temp_dir(dir);
    temp_join(db, dir, "sonde.db");
    temp_join(spool, dir, "a.spool");
    fixture_write_empty(db);
    temp_write(spool, f->spool.buf.data, f->spool.buf.size);
}

/* An error, and the spool is still there, or success, and the job is saved. */
static void submit_with(struct fault fault, const struct fixture *f)
{
    uint64_t processes = f->merged.run.process_count;
    for (set_up_files(f); faults_next(&fault); temp_remove(dir), set_up_files(f)) {
        enum err err = submit();
        if (!faults_end(&fault))
            assert_int_equal(err, OK);
        if (err == OK)
            assert_true(is_saved(processes));
        else
            assert_int_equal(access(spool, F_OK), 0);
        if (access(spool, F_OK) == 0) {
            assert_int_equal(submit(), OK);
            assert_true(is_saved(processes));
        }
    }
    temp_remove(dir);
    assert_true(fault.number > 10);
}

static void submit_while_calls_fail(void **state)
{
    struct fixture *f = *state;
    add_records(&f->spool);
    merge(f);
    for (int lasts = 0; lasts < 2; lasts++) {
        submit_with((struct fault){ .kind = FAULT_MEMORY, .lasts = lasts }, f);
        submit_with((struct fault){ .kind = FAULT_READ, .lasts = lasts }, f);
        submit_with((struct fault){ .kind = FAULT_WRITE, .lasts = lasts }, f);
        submit_with((struct fault){ .kind = FAULT_WRITE, .lasts = lasts, .error = ENOSPC, .halves = true }, f);
    }
}

/* A process that is still running is found, or whether there is one is unknown: the spool must not be removed in either case. */
static void survivor_while_calls_fail(void **state)
{
    (void)state;
    static const enum fault_kind kinds[] = { FAULT_MEMORY, FAULT_READ };
    char variable[TEMP_PATH_MAX + 32], byte;
    struct host_facts here;
    int ready[2];
    temp_dir(dir);
    temp_join(spool, dir, "a.spool");
    temp_write(spool, "", 0);
    snprintf(variable, sizeof variable, "SONDE_SPOOL=%s", spool);
    host_read(NULL, &here);
    struct run run = { .host = host_from_facts(&here), .start_ns = 1 };
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        execle("/bin/sleep", "sleep", "600", (char *)NULL, (char *[]){ variable, NULL });
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 0); /* closed by its exec */
    close(ready[0]);
    for (size_t i = 0; i < 2; i++)
        for (struct fault fault = { .kind = kinds[i], .step = i ? 97 : 1 }; faults_next(&fault); faults_end(&fault))
            assert_true(survivors_any(&run, spool));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_false(survivors_any(&run, spool));
    temp_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(merge_without_memory),
        T(submit_while_calls_fail),
        cmocka_unit_test(survivor_while_calls_fail),
    };
    faults_init_sqlite();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
