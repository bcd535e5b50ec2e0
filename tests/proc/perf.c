/* Event names, and which events are available on simulated hardware (a replacement of perf_event_open). */
#include "proc/perf.h"

#include "proc/perf_names.h"
#include "spool/probe_env.h"
#include "tools/caught.h"
#include "tools/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static struct perf_event_attr last;
static unsigned opened;

static int open_all(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags)
{
    (void)pid, (void)cpu, (void)group_fd, (void)flags;
    last = *attr;
    opened++;
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* A virtual machine: software events only. */
static int open_software(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags)
{
    if (attr->type == PERF_TYPE_SOFTWARE)
        return open_all(attr, pid, cpu, group_fd, flags);
    errno = ENOENT;
    return -1;
}

/* kernel.perf_event_paranoid = 2. */
static int open_user_mode(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags)
{
    if (attr->exclude_kernel)
        return open_all(attr, pid, cpu, group_fd, flags);
    errno = EACCES;
    return -1;
}

static int open_nothing(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags)
{
    (void)attr, (void)pid, (void)cpu, (void)group_fd, (void)flags;
    errno = EACCES;
    return -1;
}

/* Captures stderr. */
static void kernel_event_names_are_known(void **state)
{
    (void)state;
    static const struct { const char *name; uint32_t type; uint64_t config; } pairs[] = {
        { "cpu-clock", PERF_TYPE_SOFTWARE, 0 },
        { "PERF_COUNT_SW_CPU_CLOCK", PERF_TYPE_SOFTWARE, 0 },
        { "context-switches", PERF_TYPE_SOFTWARE, 3 },
        { "major-faults", PERF_TYPE_SOFTWARE, 6 },
        { "cycles", PERF_TYPE_HARDWARE, 0 },
        { "PERF_COUNT_HW_INSTRUCTIONS", PERF_TYPE_HARDWARE, 1 },
        { "L1-dcache-loads", PERF_TYPE_HW_CACHE, 0 },
        { "L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000 },
        { "LLC-store-misses", PERF_TYPE_HW_CACHE, 0x10102 },
        { "node-prefetch-misses", PERF_TYPE_HW_CACHE, 0x10206 },
        { "r01c2", PERF_TYPE_RAW, 0x1c2 },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct perf_event_spec spec = { 0 };
        assert_int_equal(perf_names_encode(pairs[i].name, &spec), OK);
        assert_int_equal(spec.type, pairs[i].type);
        assert_int_equal(spec.config, pairs[i].config);
    }
    static const char *const unknown[] = { "",          "cycle", "r",       "rxyz", "r11112222333344445",
                                           "L1-dcache", "LLC-",  "LLC-load" };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        struct perf_event_spec spec = { 0 };
        assert_int_equal(perf_names_encode(unknown[i], &spec), ABSENT);
    }
}

static void all_events_of_a_capable_node_are_counted(void **state)
{
    (void)state;
    struct perf_event_spec specs[8];
    perf_event_open_call = open_all;
    catch_stderr();
    size_t count = perf_resolve("cycles, instructions,r1a2,,page-faults:u", specs, 8);
    assert_string_equal(caught_text(), "");
    assert_int_equal(count, 4);
    assert_string_equal(specs[1].name, "instructions");
    assert_int_equal(specs[1].exclude, 0);
    assert_int_equal(specs[3].exclude, PROBE_EXCLUDE_KERNEL | PROBE_EXCLUDE_HYPERVISOR);
    assert_int_equal(last.exclude_kernel, 1);
    assert_int_equal(last.size, sizeof last);
}

static void a_missing_event_is_logged_once(void **state)
{
    (void)state;
    struct perf_event_spec specs[8];
    perf_event_open_call = open_software;
    catch_stderr();
    size_t count = perf_resolve("cycles,page-faults,cycles,L1-dcache-loads,page-faults", specs, 8);
    const char *text = caught_text();
    assert_int_equal(count, 1);
    assert_string_equal(specs[0].name, "page-faults");
    assert_int_equal(lines_in(text), 2);
    assert_non_null(strstr(text, "sonde: event cycles is not counted: "));
    assert_non_null(strstr(text, "virtual PMU"));
    assert_non_null(strstr(text, "L1-dcache-loads"));
}

static void a_user_falls_back_to_user_mode(void **state)
{
    (void)state;
    struct perf_event_spec specs[8];
    perf_event_open_call = open_user_mode;
    catch_stderr();
    size_t count = perf_resolve("instructions,page-faults,cycles,cycles:u", specs, 8);
    const char *text = caught_text();
    assert_int_equal(lines_in(text), 1); /* one message for all events */
    assert_non_null(strstr(text, "counted in user mode only, and named so (instructions:u)"));
    assert_non_null(strstr(text, "kernel.perf_event_paranoid=1"));
    assert_int_equal(count, 3);
    assert_true(specs[0].exclude & PROBE_EXCLUDE_KERNEL);
    assert_string_equal(specs[0].name, "instructions:u");
    assert_string_equal(specs[1].name, "page-faults:u");
    assert_string_equal(specs[2].name, "cycles:u");
    catch_stderr();
    assert_int_equal(perf_resolve("cycles:u,instructions:u", specs, 8), 2); /* as requested */
    assert_string_equal(caught_text(), "");
    assert_string_equal(specs[1].name, "instructions:u");
}

static void kernel_only_events_are_refused_in_user_mode(void **state)
{
    (void)state;
    static const char *const names[] = { "context-switches", "cpu-migrations", "cgroup-switches" };
    perf_event_open_call = open_user_mode;
    for (size_t i = 0; i < 3; i++) {
        struct perf_event_spec spec;
        struct perf_problem problem;
        opened = 0;
        assert_int_equal(perf_resolve_one(names[i], &spec, &problem), DENIED);
        assert_non_null(strstr(problem.fix, "kernel.perf_event_paranoid=1"));
        assert_int_equal(opened, 0);
    }
    struct perf_event_spec spec;
    struct perf_problem problem;
    perf_event_open_call = open_all;
    assert_int_equal(perf_resolve_one("context-switches:u", &spec, &problem), USAGE);
    assert_int_equal(perf_resolve_one("context-switches", &spec, &problem), OK);
}

static void missing_permission_is_explained(void **state)
{
    (void)state;
    struct perf_event_spec spec;
    struct perf_problem problem;
    perf_event_open_call = open_nothing;
    assert_int_equal(perf_resolve_one("page-faults", &spec, &problem), DENIED);
    assert_non_null(strstr(problem.fix, "kernel.perf_event_paranoid=2"));
}

static void too_many_events_are_logged(void **state)
{
    (void)state;
    struct perf_event_spec specs[2];
    perf_event_open_call = open_all;
    catch_stderr();
    assert_int_equal(perf_resolve("cycles,instructions,branches", specs, 2), 2);
    assert_non_null(strstr(caught_text(), "event branches is not counted: more than 2 events"));
}

static void an_unknown_name_refers_to_libpfm(void **state)
{
    (void)state;
    struct perf_event_spec spec;
    struct perf_problem problem;
    char longer[80];
    perf_event_open_call = open_all;
    assert_int_not_equal(perf_resolve_one("no-such-event", &spec, &problem), OK);
    assert_non_null(strstr(problem.reason, "libpfm4"));
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(perf_resolve_one(longer, &spec, &problem), USAGE);
}

/* Needs libpfm4, whose list includes the kernel's software events. */
static void libpfm_names_are_resolved(void **state)
{
    (void)state;
    struct perf_event_spec spec;
    struct perf_problem problem;
    perf_event_open_call = open_all;
    enum err err = perf_resolve_one("perf::PERF_COUNT_SW_PAGE_FAULTS_MIN", &spec, &problem);
    if (err == ABSENT)
        leave_out("libpfm4 is not installed");
    assert_int_equal(err, OK);
    assert_int_equal(spec.type, PERF_TYPE_SOFTWARE);
    assert_int_equal(spec.config, PERF_COUNT_SW_PAGE_FAULTS_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_event_names_are_known),
        cmocka_unit_test(all_events_of_a_capable_node_are_counted),
        cmocka_unit_test(a_missing_event_is_logged_once),
        cmocka_unit_test(a_user_falls_back_to_user_mode),
        cmocka_unit_test(kernel_only_events_are_refused_in_user_mode),
        cmocka_unit_test(missing_permission_is_explained),
        cmocka_unit_test(too_many_events_are_logged),
        cmocka_unit_test(an_unknown_name_refers_to_libpfm),
        cmocka_unit_test(libpfm_names_are_resolved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
