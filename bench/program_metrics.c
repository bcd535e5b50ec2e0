/* bench-program-metrics [SECONDS]: the server for tau's clients: messages per second from 1, 2 and 4 programs, with 64 messages per
 * write and with one; 5,000 concurrent programs; /metrics with 100,000 metrics in four layouts. */
#include "base/file.h"
#include "model/view.h"
#include "appmetrics/registry.h"
#include "api/program_page.h"
#include "compat/tau/alias.h"
#include "compat/tau/server.h"
#include "tools.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define METRICS 100
#define PROGRAMS 5000
#define SERIES 100000
#define ROUNDS 9

static struct registry *registry;
static struct program_jobs jobs = { .root = "" };
static struct tau_endpoint endpoint;
static struct tau_server *server;
static char path[108];

static void open_gateway(void)
{
    struct buf why;
    buf_init(&why, 4096);
    snprintf(path, sizeof path, "%s/bench-program-metrics.%d", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (int)getpid());
    if (registry_open(&registry, &(struct registry_settings){ .host = "n1", .aliases = tau_alias_list }))
        tools_die("out of memory");
    endpoint = (struct tau_endpoint){ registry, &jobs };
    if (tau_server_open(&server, path, &endpoint, &why))
        tools_die(buf_text(&why));
}

static int connect_to(void)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    memcpy(at.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at) < 0)
        tools_die("cannot connect");
    return fd;
}

static void put(int fd, const void *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t sent = write(fd, (const char *)data + at, size - at);
        if (sent <= 0)
            _exit(1);
        at += (size_t)sent;
    }
}

static void describe(int fd, int metrics)
{
    char job[sizeof(struct tau_message) + sizeof(struct tau_job)] = { 0 };
    struct tau_message message = { .type = TAU_JOB, .canary = TAU_CANARY };
    memcpy(job, &message, sizeof message);
    put(fd, job, sizeof job);
    for (int i = 0; i < metrics; i++) {
        message = (struct tau_message){ .type = TAU_DESC, .canary = TAU_CANARY };
        snprintf(message.descriptor.name, TAU_TEXT_MAX, "tau_hits_total{function=\"mpi_function_%d\"}", i);
        message.descriptor.type = TAU_COUNTER;
        put(fd, &message, sizeof message);
    }
}

/* One update of a client, in reverse order as tau's library does. */
static struct tau_message *make_round(void)
{
    struct tau_message *round = calloc(METRICS, sizeof *round);
    for (int i = 0; i < METRICS; i++) {
        round[i] = (struct tau_message){ .type = TAU_VAL, .canary = TAU_CANARY, .event.value = 1 };
        snprintf(round[i].event.name, TAU_TEXT_MAX, "tau_hits_total{function=\"mpi_function_%d\"}", METRICS - 1 - i);
    }
    return round;
}

static void push_for(uint64_t ns, size_t at_once)
{
    struct tau_message *round = make_round();
    int fd = connect_to();
    describe(fd, METRICS);
    for (uint64_t end_ns = tools_now_ns() + ns; tools_now_ns() < end_ns;)
        for (size_t i = 0; i < METRICS; i += at_once)
            put(fd, round + i, sizeof *round * (METRICS - i < at_once ? METRICS - i : at_once));
    _exit(0);
}

static uint64_t messages(void)
{
    registry_lock(registry);
    uint64_t count = registry->stats.messages;
    registry_unlock(registry);
    return count;
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void measure_rate(int programs, size_t at_once, uint64_t ns)
{
    uint64_t before = messages(), begin_ns = tools_now_ns();
    double cpu = cpu_s();
    for (int i = 0; i < programs; i++)
        if (fork() == 0)
            push_for(ns, at_once);
    while (wait(NULL) > 0)
        continue;
    double seconds = (double)(tools_now_ns() - begin_ns) / 1e9, count = (double)(messages() - before);
    printf("%d programs, %2zu messages per write: %5.2f million messages/s, %3.0f ns of server CPU each\n", programs,
           at_once, count / seconds / 1e6, (cpu_s() - cpu) / count * 1e9);
}

static double rss_mb(void)
{
    char text[256] = "";
    if (file_read(NULL, "/proc/self/statm", text, sizeof text, NULL) || !strchr(text, ' '))
        return 0;
    return (double)strtol(strchr(text, ' '), NULL, 10) * 4096 / 1e6;
}

/* In one child: only the number of sockets matters, not of processes. */
static void hold_many(int ready_fd)
{
    static int fds[PROGRAMS];
    struct tau_message *round = make_round();
    char c = 'r';
    for (int i = 0; i < PROGRAMS; i++) {
        fds[i] = connect_to();
        describe(fds[i], METRICS);
    }
    for (int i = 0; i < PROGRAMS; i++)
        put(fds[i], round, sizeof *round * METRICS);
    put(ready_fd, &c, 1);
    pause();
}

static void measure_many(void)
{
    int ready[2];
    char c;
    double before = rss_mb();
    uint64_t count = messages(), begin_ns = tools_now_ns();
    if (pipe(ready))
        tools_die("cannot create a pipe");
    pid_t pid = fork();
    if (pid == 0)
        hold_many(ready[1]);
    if (read(ready[0], &c, 1) != 1)
        tools_die("no program connected");
    while (messages() - count < (uint64_t)PROGRAMS * (2 * METRICS + 1))
        usleep(1000);
    printf("%d programs with %d metrics each connected and sent once in %.2f s; %.1f MB more, %.1f kB each\n", PROGRAMS, METRICS,
           (double)(tools_now_ns() - begin_ns) / 1e9, rss_mb() - before, (rss_mb() - before) * 1e3 / PROGRAMS);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(ready[0]);
    close(ready[1]);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void fill(struct registry *to, size_t per_family, enum program_kind kind, const char *job)
{
    struct scope *scope = *job ? scopes_job(&to->scopes, job, 0) : &to->scopes.node;
    for (size_t i = 0; i < SERIES; i++) {
        char name[128];
        struct program_metric *metric;
        int size = snprintf(name, sizeof name, "bench_family_%zu_total{member=\"%zu\"}", i / per_family, i % per_family);
        struct metric_description description = {
            .name = { name, (size_t)size }, .doc = bytes_of("one of very many"), .unit = { "", 0 }, .kind = kind,
        };
        if (registry_metric(to, &description, &metric))
            tools_die("the table is full");
        struct cell *cell = registry_cell(to, metric, scope);
        if (kind == PROGRAM_COUNTER) {
            cell_add(cell, 0.37 * (double)(i + 1), 1);
        } else {
            struct contribution *hold = calloc(1, sizeof *hold);
            contribution_join(hold, cell);
            contribution_set(hold, (double)i, 1);
        }
    }
}

static void measure_page(const char *about, size_t per_family, enum program_kind kind, const char *job)
{
    struct registry *to;
    struct buf out;
    double ms[ROUNDS];
    double before = rss_mb();
    if (registry_open(&to, &(struct registry_settings){ .host = "n1", .aliases = tau_alias_list }))
        tools_die("out of memory");
    fill(to, per_family, kind, job);
    double more = rss_mb() - before;
    buf_init(&out, 1u << 30);
    for (int i = 0; i < ROUNDS; i++) {
        struct program_page page = { i % 2 ? METRICS_OPEN : METRICS_TEXT, VIEW_ALL, false };
        buf_reset(&out);
        uint64_t begin_ns = tools_now_ns();
        program_page_write(&out, to, &page);
        ms[i] = (double)(tools_now_ns() - begin_ns) / 1e6;
    }
    qsort(ms, ROUNDS, sizeof *ms, compare);
    printf("%-34s %5.1f MB: best %5.1f ms, median %5.1f ms; table %4.0f MB\n", about, (double)out.size / 1e6, ms[0],
           ms[ROUNDS / 2], more);
    buf_clear(&out);
    registry_close(&to);
}

int main(int argc, char **argv)
{
    uint64_t ns = (uint64_t)((argc > 1 ? strtod(argv[1], NULL) : 2) * 1e9);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    open_gateway();
    for (size_t at_once = 64; at_once; at_once = at_once == 64 ? 1 : 0)
        for (int programs = 1; programs <= 4; programs *= 2)
            measure_rate(programs, at_once, ns);
    measure_many();
    tau_server_close(&server);
    registry_close(&registry);
    measure_page("100,000 counters, one family", SERIES, PROGRAM_COUNTER, "");
    measure_page("100,000 counters, 100 per family", 100, PROGRAM_COUNTER, "");
    measure_page("100,000 counters, one per family", 1, PROGRAM_COUNTER, "");
    measure_page("100,000 gauges, one per family", 1, PROGRAM_GAUGE, "");
    measure_page("the same of one job: 200,000 lines", 100, PROGRAM_COUNTER, "4711");
    return 0;
}
