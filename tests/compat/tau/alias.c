/* The names of tau for what our probes count. */
#include "compat/tau/alias.h"

#include "tools/unit.h"

static struct registry *registry;

static int open_registry(void **state)
{
    (void)state;
    return registry_open(&registry, &(struct registry_settings){
        .host = "n1", .metrics_max = 10, .is_by_user = true, .aliases = tau_alias_list,
    });
}

static int close_registry(void **state)
{
    (void)state;
    registry_close(&registry);
    return 0;
}

static enum err make_of(struct scope *scope, const char *name, enum program_kind kind, struct program_metric **metric)
{
    struct metric_description description = {
        .name = bytes_of(name), .doc = { "", 0 }, .unit = { "", 0 }, .kind = kind, .scope = scope,
    };
    return registry_metric(registry, &description, metric);
}

static enum err make(const char *name, enum program_kind kind, struct program_metric **metric)
{
    return make_of(NULL, name, kind, metric);
}

static void metric_with_aliases_is_evicted_too(void **state)
{
    struct program_metric *metric;
    (void)state;
    for (int i = 0; i < 100; i++) {
        char name[64];
        snprintf(name, sizeof name, "mpi_calls_total{function=\"MPI_%d\"}", i);
        struct scope *job = scopes_job(&registry->scopes, "1", 7);
        assert_int_equal(make_of(job, name, PROGRAM_COUNTER, &metric), OK);
        cell_add(registry_cell(registry, metric, job), 1, 1);
        registry_drop_scope(registry, job);
    }
    assert_true(registry->metrics.by_name.count <= 10);
    assert_true(metric_table_find(&registry->metrics, bytes_of("tau_hits_total{function=\"mpi_99\"}"))->values.node->total == 1);
}

static void aliases_count_with_their_metric(void **state)
{
    struct program_metric *metric, *sent;
    (void)state;
    assert_int_equal(make("mpi_calls_total{function=\"MPI_Send\"}", PROGRAM_COUNTER, &metric), OK);
    struct cell *cell = registry_cell(registry, metric, scopes_job(&registry->scopes, "1", 7));
    cell_add(cell, 5, 1);
    struct program_metric *alias = metric_table_find(&registry->metrics, bytes_of("tau_hits_total{function=mpi_send}"));
    assert_non_null(alias);
    assert_true(alias->is_alias && alias->values.node->total == 5);
    assert_true(registry_cell(registry, alias, cell->scope)->total == 5);
    assert_true(metric_table_find(&registry->metrics, bytes_of("tau_mpi_total{metric=\"hits\"}"))->values.node->total == 5);
    assert_int_equal(make("tau_hits_total{function=\"mpi_send\"}", PROGRAM_COUNTER, &alias), OK); /* a program of tau's too */
    cell_add(alias->values.node, 2, 1);
    assert_false(alias->is_alias);
    assert_true(alias->values.node->total == 7 && metric->values.node->total == 5);
    assert_int_equal(make("syscall_bytes_total{call=\"read\"}", PROGRAM_COUNTER, &sent), OK);
    cell_add(sent->values.node, 100, 1);
    assert_true(metric_table_find(&registry->metrics, bytes_of("strace_read_size_total"))->values.node->total == 100);
}

static void system_calls_read_or_write(void **state)
{
    (void)state;
    assert_int_equal(tau_call_direction("pread64"), TAU_CALL_READS);
    assert_int_equal(tau_call_direction("sendmsg"), TAU_CALL_WRITES);
    assert_int_equal(tau_call_direction("open"), TAU_CALL_OTHER);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_registry, close_registry)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(metric_with_aliases_is_evicted_too),
        T(aliases_count_with_their_metric),
        T(system_calls_read_or_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
