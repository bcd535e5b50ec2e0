/* Messages of a client of tau, byte by byte: accepted, answered, or refused as by tau's own proxy. */
#include "appmetrics/registry.h"
#include "compat/tau/connection.h"

#include "tools/unit.h"

#include <math.h>
#include <unistd.h>

static struct registry *registry;
static struct program_jobs jobs;
static struct tau_endpoint endpoint;
static struct tau_connection connection;
_Alignas(16) static char block[2 << 20];
static size_t block_size;

static int begin(void **state)
{
    (void)state;
    if (registry_open(&registry, &(struct registry_settings){ .host = "n1", .metrics_max = 1000 }))
        return 1;
    jobs = (struct program_jobs){ .root = "/nonexistent" };
    endpoint = (struct tau_endpoint){ registry, &jobs };
    block_size = 0;
    return (int)tau_connection_open(&connection, &endpoint, 0, 1000);
}

static int end(void **state)
{
    (void)state;
    tau_connection_close(&connection, &endpoint);
    assert_int_equal(registry->stats.connections, 0);
    program_jobs_clear(&jobs);
    registry_close(&registry);
    return 0;
}

static struct tau_message *add(int32_t type, const char *name)
{
    struct tau_message *message = (void *)(block + block_size);
    *message = (struct tau_message){ .type = type, .canary = TAU_CANARY };
    snprintf(message->descriptor.name, TAU_TEXT_MAX, "%s", name);
    block_size += sizeof *message;
    return message;
}

static void describe(const char *name, int32_t type) { add(TAU_DESC, name)->descriptor.type = type; }

static void value(const char *name, double number) { add(TAU_VAL, name)->event.value = number; }

static void job(const char *id)
{
    struct tau_job described = { .size = -1 };
    snprintf(described.id, sizeof described.id, "%s", id);
    add(TAU_JOB, "");
    memcpy(block + block_size, &described, sizeof described);
    block_size += sizeof described;
}

static enum err take(void)
{
    size_t used;
    enum err err = tau_connection_receive(&connection, &endpoint, (struct bytes){ block, block_size }, &used);
    if (!err)
        assert_int_equal(used, block_size);
    block_size = 0;
    return err;
}

static double total(const char *name)
{
    struct program_metric *metric = metric_table_find(&registry->metrics, bytes_of(name));
    assert_non_null(metric);
    return metric->values.node->total;
}

static void values_in_any_order_are_counted(void **state)
{
    (void)state;
    static const char *const names[] = { "a_total", "b_total{x=\"1\"}", "c_total", "d_total" };
    for (size_t i = 0; i < 4; i++)
        describe(names[i], TAU_COUNTER);
    for (int round = 0; round < 10; round++) {
        for (size_t i = 4; i > 0; i--)
            value(names[i - 1], 1); /* backwards, as tau's library does */
        for (size_t i = 0; i < 4; i++)
            value(names[i * 3 % 4], 10);
    }
    value("b_total{x=1}", 100); /* in another spelling */
    assert_int_equal(take(), OK);
    assert_true(total("a_total") == 110 && total("c_total") == 110 && total("d_total") == 110);
    assert_true(total("b_total{x=\"1\"}") == 210);
}

static void message_may_arrive_in_pieces(void **state)
{
    size_t used;
    (void)state;
    describe("a_total", TAU_COUNTER);
    value("a_total", 1);
    job("4711");
    value("a_total", 2);
    for (size_t size = 0, at = 0; size <= block_size; size++) {
        assert_int_equal(tau_connection_receive(&connection, &endpoint, (struct bytes){ block + at, size - at }, &used), OK);
        at += used;
    }
    assert_true(total("a_total") == 3);
    assert_string_equal(connection.scope->id, "4711");
}

static void refused(void (*say)(void))
{
    say();
    assert_int_equal(take(), CORRUPT);
    assert_non_null(connection.error);
    tau_connection_close(&connection, &endpoint);
    assert_int_equal(tau_connection_open(&connection, &endpoint, 0, 1000), OK);
}

static void wrong_canary(void) { add(TAU_LIST_ALL, "")->canary = 8; }

static void unknown_type(void) { add(6, ""); }

static void negative_type(void) { add(-1, ""); }

static void endless_name(void)
{
    struct tau_message *message = add(TAU_DESC, "");
    memset(message->descriptor.name, 'A', TAU_TEXT_MAX);
    message->descriptor.type = TAU_COUNTER;
}

static void endless_value(void) { memset(add(TAU_VAL, "")->event.name, 'A', TAU_TEXT_MAX); }

static void metric_type_9(void) { describe("x_total", 9); }

static void empty_name(void) { describe("", TAU_COUNTER); }

static void unknown_name(void) { value("nobody_total", 1); }

static void two_types(void)
{
    describe("x_total", TAU_COUNTER);
    describe("x_total", TAU_GAUGE);
}

static void bad_message_closes_only_the_connection(void **state)
{
    (void)state;
    void (*const bad[])(void) = { wrong_canary, unknown_type, negative_type, endless_name, endless_value, metric_type_9,
                                  empty_name, unknown_name, two_types };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(bad[i]);
    describe("y_total", TAU_COUNTER);
    value("y_total", 1);
    assert_int_equal(take(), OK);
}

static void program_may_not_name_hundreds_of_jobs(void **state)
{
    char id[16];
    (void)state;
    for (int i = 0; i < 100; i++) {
        snprintf(id, sizeof id, "%d", i);
        job(id);
    }
    assert_int_equal(take(), OK);
    job("one more");
    assert_int_equal(take(), CORRUPT);
    assert_non_null(connection.error);
}

static void nan_and_infinity(void **state)
{
    (void)state;
    describe("x_total", TAU_COUNTER);
    describe("g", TAU_GAUGE);
    value("x_total", 1);
    value("x_total", NAN);
    value("x_total", INFINITY);
    value("x_total", -1);
    value("x_total", -INFINITY);
    value("x_total", 2);
    value("g", NAN);
    assert_int_equal(take(), OK);
    assert_true(total("x_total") == 3);
    assert_int_equal(registry->stats.refused, 4);
    struct program_metric *gauge = metric_table_find(&registry->metrics, bytes_of("g"));
    cells_refresh_gauges(gauge);
    assert_int_equal(gauge->values.node->gauge.programs, 0); /* absent, as on a segment */
    value("g", 5);
    assert_int_equal(take(), OK);
    cells_refresh_gauges(gauge);
    assert_true(gauge->values.node->gauge.sum == 5);
}

static void nan_of_one_program_does_not_spoil_a_gauge(void **state)
{
    struct tau_connection other;
    (void)state;
    describe("g", TAU_GAUGE);
    value("g", 10);
    assert_int_equal(take(), OK);
    struct tau_connection first = connection;
    assert_int_equal(tau_connection_open(&connection, &endpoint, 0, 1000), OK);
    describe("g", TAU_GAUGE);
    value("g", 3);
    value("g", NAN);
    assert_int_equal(take(), OK);
    other = connection;
    connection = first;
    struct program_metric *gauge = metric_table_find(&registry->metrics, bytes_of("g"));
    cells_refresh_gauges(gauge);
    assert_int_equal(gauge->values.node->gauge.programs, 1);
    assert_true(gauge->values.node->gauge.sum == 10 && gauge->values.node->gauge.max == 10);
    tau_connection_close(&other, &endpoint);
}

/* The whole answer, of which a piece has at least 4 bytes. */
static size_t answer(char *out)
{
    size_t size = 0, got;
    while ((got = tau_reply_fill(&connection.reply, registry, out + size, TAU_REPLY_SIZE)))
        size += got;
    return size;
}

static void queries_are_answered(void **state)
{
    static char out[1 << 20];
    int32_t count;
    struct tau_event event;
    (void)state;
    for (int i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof name, "x%d_total", i);
        describe(name, TAU_COUNTER);
        value(name, i);
    }
    add(TAU_LIST_ALL, "");
    assert_int_equal(take(), OK);
    assert_int_equal(answer(out), 4 + 300 * sizeof(struct tau_descriptor));
    memcpy(&count, out, 4);
    assert_int_equal(count, 300);
    assert_string_equal(out + 4 + 604, "x1_total");
    for (size_t i = strlen("x1_total"); i < TAU_TEXT_MAX; i++)
        assert_int_equal(out[4 + 604 + i], 0); /* nothing of ours leaks */
    add(TAU_GET_ALL, "");
    assert_int_equal(take(), OK);
    assert_int_equal(answer(out), 4 + 300 * sizeof event);
    add(TAU_GET_ONE, "x7_total");
    assert_int_equal(take(), OK);
    assert_int_equal(answer(out), sizeof event);
    memcpy(&event, out, sizeof event);
    assert_true(event.value == 7 && event.update_s > 1e9);
    add(TAU_GET_ONE, "nobody");
    assert_int_equal(take(), OK);
    assert_int_equal(answer(out), sizeof event);
    memcpy(&event, out, sizeof event);
    assert_true(event.value == 0 && event.name[0] == '\0' && event.update_s == 0);
}

/* A few metrics with long strings evict many unused ones, while a list of these is being sent. */
static void metric_removed_during_a_reply_is_padding(void **state)
{
    static char out[1 << 20], doc[3 << 10];
    struct tau_descriptor last;
    struct program_metric *metric;
    (void)state;
    for (int i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof name, "x%d_total", i);
        describe(name, TAU_COUNTER);
    }
    job("");
    add(TAU_LIST_ALL, "");
    assert_int_equal(take(), OK);
    size_t size = tau_reply_fill(&connection.reply, registry, out, 4 + 10 * sizeof last);
    memset(doc, 'd', sizeof doc);
    for (int i = 0; i < 10; i++) {
        char name[32];
        snprintf(name, sizeof name, "long%d_total", i);
        struct metric_description description = { .name = bytes_of(name), .doc = { doc, sizeof doc }, .unit = { "", 0 },
                                                   .kind = PROGRAM_COUNTER, .scope = connection.scope };
        assert_int_equal(registry_metric(registry, &description, &metric), OK);
    }
    size += answer(out + size);
    assert_int_equal(size, 4 + 1000 * sizeof last);
    memcpy(&last, out + size - sizeof last, sizeof last);
    assert_string_equal(last.name, "");
    assert_int_equal(last.type, TAU_NULL); /* as tau's proxy pads; its clients pass it over */
}

static void unset_gauge_is_unknown(void **state)
{
    static char out[1 << 20];
    struct tau_event event;
    (void)state;
    describe("g", TAU_GAUGE);
    describe("x_total", TAU_COUNTER);
    add(TAU_GET_ONE, "g");
    assert_int_equal(take(), OK);
    assert_int_equal(answer(out), sizeof event);
    memcpy(&event, out, sizeof event);
    assert_string_equal(event.name, "");
    add(TAU_GET_ALL, "");
    assert_int_equal(take(), OK);
    assert_int_equal(answer(out), 4 + sizeof event); /* the counter, which is 0 */
    assert_string_equal(out + 4, "x_total");
    add(TAU_LIST_ALL, "");
    assert_int_equal(take(), OK);
    assert_int_equal(answer(out), 4 + 2 * sizeof(struct tau_descriptor));
    value("g", 5);
    add(TAU_GET_ALL, "");
    assert_int_equal(take(), OK);
    assert_int_equal(answer(out), 4 + 2 * sizeof event);
}

static void program_reports_only_for_jobs_of_its_user(void **state)
{
    struct job known = { .id = "4711", .other_id = "", .user = "ada", .uid = 1001, .source = "slurm", .cgroup = "" };
    (void)state;
    program_jobs_update(&jobs, registry, &known, JOB_BEGIN);
    job("4711"); /* it is user 1000 */
    assert_int_equal(take(), OK);
    assert_true(connection.was_refused);
    assert_int_equal(connection.scope->kind, SCOPE_NODE);
    known.uid = 1000;
    program_jobs_update(&jobs, registry, &known, JOB_CHANGE);
    job("4711-0");
    assert_int_equal(take(), OK);
    assert_false(connection.was_refused);
    assert_string_equal(connection.scope->id, "4711");
    assert_true(connection.scope->job.is_known);
}

static void client_over_the_limit_stays_connected(void **state)
{
    (void)state;
    for (int i = 0; i < 1005; i++) {
        char name[32];
        snprintf(name, sizeof name, "x%d_total", i);
        describe(name, TAU_COUNTER);
        value(name, 1);
    }
    assert_int_equal(take(), OK);
    assert_int_equal(registry->stats.left_out, 5);
    assert_true(total("x999_total") == 1);
}

static void gauges_end_with_their_program(void **state)
{
    (void)state;
    describe("g", TAU_GAUGE);
    value("g", 5);
    assert_int_equal(take(), OK);
    struct program_metric *gauge = metric_table_find(&registry->metrics, bytes_of("g"));
    cells_refresh_gauges(gauge);
    assert_int_equal(gauge->values.node->gauge.programs, 1);
    job(""); /* begins again */
    assert_int_equal(take(), OK);
    cells_refresh_gauges(gauge);
    assert_int_equal(gauge->values.node->gauge.programs, 0);
}

static void client_moves_into_a_declared_job(void **state)
{
    (void)state;
    jobs.root = "";
    connection.pid = getpid();
    connection.uid = getuid();
    describe("c_total", TAU_COUNTER);
    describe("g", TAU_GAUGE);
    value("c_total", 5);
    value("g", 7);
    assert_int_equal(take(), OK);
    struct job told = { .id = "night", .other_id = "", .source = "told", .user = "", .cgroup = "", .pid = (uint32_t)getpid() };
    program_jobs_update(&jobs, registry, &told, JOB_BEGIN);
    value("c_total", 2);
    assert_int_equal(take(), OK);
    assert_true(total("c_total") == 7);
    assert_string_equal(connection.scope->id, "night");
    struct program_metric *counter = metric_table_find(&registry->metrics, bytes_of("c_total"));
    assert_true(LIST_FIRST(&counter->values.cells)->total == 2); /* since the job was declared */
    struct program_metric *gauge = metric_table_find(&registry->metrics, bytes_of("g"));
    cells_refresh_gauges(gauge);
    assert_int_equal(gauge->values.node->gauge.programs, 1);
    assert_true(LIST_FIRST(&gauge->values.cells)->gauge.sum == 7);
}

static void tell(const char *id, pid_t pid)
{
    struct job told = { .id = id, .other_id = "", .source = "told", .user = "", .uid = getuid(), .cgroup = "" };
    told.pid = (uint32_t)pid;
    program_jobs_update(&jobs, registry, &told, JOB_BEGIN);
}

static void client_moves_into_a_nearer_job_unless_it_named_one(void **state)
{
    (void)state;
    jobs.root = "";
    connection.pid = getpid();
    connection.uid = getuid();
    tell("far", getppid());
    describe("c_total", TAU_COUNTER);
    value("c_total", 5);
    assert_int_equal(take(), OK);
    assert_string_equal(connection.scope->id, "far");
    tell("near", getpid());
    value("c_total", 10);
    assert_int_equal(take(), OK);
    assert_string_equal(connection.scope->id, "near");
    assert_true(total("c_total") == 15);
    assert_true(LIST_FIRST(&metric_table_find(&registry->metrics, bytes_of("c_total"))->values.cells)->total == 10);
    connection.pid = 0; /* so that what it names counts */
    tell("named", 0);
    job("named");
    assert_int_equal(take(), OK);
    connection.pid = getpid();
    tell("near too", getpid());
    assert_int_equal(take(), OK);
    assert_string_equal(connection.scope->id, "named");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(values_in_any_order_are_counted), TEST(message_may_arrive_in_pieces),
        TEST(bad_message_closes_only_the_connection), TEST(program_may_not_name_hundreds_of_jobs),
        TEST(nan_and_infinity), TEST(nan_of_one_program_does_not_spoil_a_gauge), TEST(queries_are_answered),
        TEST(metric_removed_during_a_reply_is_padding), TEST(unset_gauge_is_unknown),
        TEST(program_reports_only_for_jobs_of_its_user), TEST(client_over_the_limit_stays_connected),
        TEST(gauges_end_with_their_program), TEST(client_moves_into_a_declared_job),
        TEST(client_moves_into_a_nearer_job_unless_it_named_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
