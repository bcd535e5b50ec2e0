/* bench-store [PROCESSES [JOBS]]: the cost of saving and finding jobs. For comparison: SQLite inserting one row with one string per
 * process (its arguments) in one transaction, with the same durability.
 *   save   a job of PROCESSES processes in a new database, including open and close, and its size
 *   small  a job of one process in an existing database: open, save, close
 *   list   JOBS jobs: all of them, the last twenty, and one with what a report needs */
#include "base/clock.h"
#include "store/store.h"
#include "tools/fake_run.h"
#include "tools/temp.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ROUNDS 5
#define SMALL_ROUNDS 60

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "bench-store: %s failed\n", what);
    exit(1);
}

static double since_s(uint64_t start_ns)
{
    return (double)(clock_monotonic_ns() - start_ns) / 1e9;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_size);
    return values[count / 2];
}

static struct store *open_store(const char *path, enum store_mode mode)
{
    struct store *store;
    char *message;
    enum err err = store_open(&store, path, mode, &message);
    if (err != OK)
        fprintf(stderr, "%s\n", message ? message : err_text(err));
    must(err == OK, "open");
    return store;
}

static uint64_t cpu_ns; /* of the last save_once */

static double save_once(const char *path, const struct run *run)
{
    uint64_t start_ns = clock_monotonic_ns(), start_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    struct store *store = open_store(path, STORE_WRITE);
    must(store_save_run(store, run) == OK, "file");
    store_close(&store);
    cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_cpu_ns;
    return since_s(start_ns);
}

static uint64_t size_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

/* One string per process in a plain table. */
static double plain_once(const char *path, const struct run *run)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    uint64_t start_ns = clock_monotonic_ns();
    must(sqlite3_open(path, &db) == SQLITE_OK, "sqlite3_open");
    must(sqlite3_exec(db, "PRAGMA journal_mode = WAL; CREATE TABLE t (line TEXT); BEGIN", NULL, NULL, NULL) == SQLITE_OK,
         "begin");
    must(sqlite3_prepare_v2(db, "INSERT INTO t VALUES (?1)", -1, &statement, NULL) == SQLITE_OK, "prepare");
    for (size_t i = 0; i < run->process_count; i++) {
        struct bytes args = run->processes[i].args;
        sqlite3_bind_text(statement, 1, args.data, (int)args.size, SQLITE_STATIC);
        must(sqlite3_step(statement) == SQLITE_DONE, "insert");
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    must(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK, "commit");
    sqlite3_close(db);
    return since_s(start_ns);
}

static void bench_file(const char *dir, size_t processes)
{
    double filed[ROUNDS], plain[ROUNDS], cpu_us[ROUNDS];
    uint64_t bytes = 0;
    char path[TEMP_PATH_MAX], name[64];
    struct fake_run fake;
    fake_run_make(&fake, &(struct fake_shape){ .processes = processes });
    for (int round = 0; round < ROUNDS; round++) {
        snprintf(name, sizeof name, "file%d.db", round);
        temp_join(path, dir, name);
        filed[round] = save_once(path, &fake.run);
        cpu_us[round] = (double)cpu_ns / 1e3 / (double)processes;
        bytes = size_of(path);
        snprintf(name, sizeof name, "plain%d.db", round);
        temp_join(path, dir, name);
        plain[round] = plain_once(path, &fake.run);
    }
    double s = median(filed, ROUNDS), plain_s = median(plain, ROUNDS);
    printf("save   %zu processes: %.0f processes/s (%.2f us of CPU each), %.0f bytes/process of the whole file; "
           "plain text rows: %.0f rows/s; ratio %.2f\n", processes, (double)processes / s, median(cpu_us, ROUNDS),
           (double)bytes / (double)processes, (double)processes / plain_s, s / plain_s);
    fake_run_clear(&fake);
}

static void bench_small(const char *dir)
{
    double took[SMALL_ROUNDS], worst = 0;
    char path[TEMP_PATH_MAX], id[64];
    temp_join(path, dir, "small.db");
    for (int round = 0; round < SMALL_ROUNDS; round++) {
        struct fake_run fake;
        snprintf(id, sizeof id, "job-%d", round);
        fake_run_make(&fake, &(struct fake_shape){ .processes = 1, .samples = 2, .run_id = id, .job_id = id });
        took[round] = save_once(path, &fake.run);
        worst = round && took[round] > worst ? took[round] : worst;
        fake_run_clear(&fake);
    }
    double first = took[0];
    printf("small  open, save, close: %.2f ms (median), %.2f ms (maximum), %.2f ms (first, creates the database)\n",
           median(took, SMALL_ROUNDS) * 1e3, worst * 1e3, first * 1e3);
}

static enum err count_job(void *context, const struct store_job *job)
{
    *(uint64_t *)context += job->summary.processes;
    return OK;
}

static enum err count_process(void *context, uint32_t number, const struct process *process)
{
    (void)number;
    *(uint64_t *)context += process->args.size;
    return OK;
}

static enum err count_thread(void *context, uint32_t number, const struct thread *thread)
{
    *(uint64_t *)context += number + thread->tid;
    return OK;
}

static enum err count_executable(void *context, const struct summary_executable *executable)
{
    *(uint64_t *)context += executable->count;
    return OK;
}

static enum err count_series(void *context, const char *host, const struct run_series *series)
{
    *(uint64_t *)context += series->count + strlen(host);
    return OK;
}

static double list_once(const char *path, size_t limit)
{
    uint64_t sum = 0, start_ns = clock_monotonic_ns();
    struct store *store = open_store(path, STORE_READ);
    must(store_jobs(store, &(struct store_filter){ .limit = limit, .brief = true }, count_job, &sum) == OK, "list");
    store_close(&store);
    return since_s(start_ns);
}

static double report_once(const char *path)
{
    struct store_job job;
    uint64_t sum = 0, start_ns = clock_monotonic_ns();
    struct store *store = open_store(path, STORE_READ);
    must(store_job(store, NULL, &job) == OK, "job");
    must(store_top_processes(store, job.row, count_process, &sum) == OK, "top processes");
    must(store_top_threads(store, job.row, count_thread, &sum) == OK, "top threads");
    must(store_executables(store, job.row, count_executable, &sum) == OK, "executables");
    must(store_series(store, job.row, count_series, &sum) == OK, "series");
    store_job_clear(&job);
    store_close(&store);
    return since_s(start_ns);
}

static void bench_list(const char *dir, size_t jobs)
{
    char path[TEMP_PATH_MAX], id[64];
    temp_join(path, dir, "list.db");
    struct store *store = open_store(path, STORE_WRITE);
    uint64_t start_ns = clock_monotonic_ns();
    for (size_t i = 0; i < jobs; i++) {
        struct fake_run fake;
        snprintf(id, sizeof id, "job-%zu", i);
        fake_run_make(&fake, &(struct fake_shape){ .processes = 100, .threads = 2, .samples = 20, .run_id = id,
                                                   .job_id = id });
        must(store_save_run(store, &fake.run) == OK, "file");
        fake_run_clear(&fake);
    }
    store_close(&store);
    double filed_s = since_s(start_ns);
    double all[ROUNDS], last[ROUNDS], report[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        all[round] = list_once(path, 0);
        last[round] = list_once(path, 20);
        report[round] = report_once(path);
    }
    printf("list   %zu jobs of 100 processes (saved in %.2f ms each): all %.1f ms, the last twenty %.2f ms, "
           "report %.2f ms\n", jobs, filed_s * 1e3 / (double)jobs, median(all, ROUNDS) * 1e3, median(last, ROUNDS) * 1e3,
           median(report, ROUNDS) * 1e3);
}

int main(int argc, char **argv)
{
    size_t processes = argc > 1 ? strtoul(argv[1], NULL, 10) : 75000;
    size_t jobs = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000;
    char dir[TEMP_PATH_MAX];
    temp_dir(dir);
    if (processes)
        bench_file(dir, processes);
    bench_small(dir);
    if (jobs)
        bench_list(dir, jobs);
    temp_remove(dir);
    return 0;
}
