/* Doctor's findings: their layout, the overall result, and single checks on fake trees. */
#include "doctor/doctor.h"

#include "doctor/check_kernel.h"
#include "doctor/check_install.h"
#include "doctor/check_perf.h"
#include "proc/perf.h"
#include "tools/node.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static struct doctor doctor;
static const struct terminal plain = { .width = 80 };

static void have(size_t i, const char *name, bool essential, bool there)
{
    struct finding *finding = &doctor.findings[i];
    *finding = (struct finding){ .group = "Group", .name = name, .essential = essential };
    if (there)
        finding_available(finding, "fine");
    else
        finding_missing(finding, "turn it on",
                        "it is off, and so a number that people like to see is not known to anybody");
    doctor.count = i + 1;
}

static void optional_sources_may_be_missing(void **state)
{
    (void)state;
    have(0, "a", true, true);
    have(1, "b", false, false);
    assert_true(doctor_is_well(&doctor));
    have(2, "c", true, false);
    assert_false(doctor_is_well(&doctor));
}

static void page_has_reason_and_fix(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 1 << 16);
    doctor.host = (struct host_facts){ .name = "n1", .kernel = "6.1", .cores = 8, .memory_bytes = 1ull << 34 };
    doctor.limits = (struct limits){ .cores_milli = 2500, .memory_bytes = 1ull << 30 };
    have(0, "there", true, true);
    have(1, "away", false, false);
    have(2, "vital", true, false);
    doctor_print(&doctor, &plain, &out);
    const char *text = buf_text(&out);
    assert_non_null(strstr(text, "on n1, Linux 6.1"));
    assert_non_null(strstr(text, "Limits: 2.5 of 8 cores, 1.0 GiB of 16.0 GiB memory\n"));
    assert_non_null(strstr(text, "\nGroup\n  + there              fine\n"));
    assert_non_null(strstr(text, "  - away               it is off, and so a number that people like to see is not\n"
                                 "                       known to anybody\n"
                                 "                       Fix: turn it on\n"));
    assert_non_null(strstr(text, "  X vital"));
    assert_non_null(strstr(text, "Something essential does not work.\n"));
    buf_clear(&out);
}

static void a_file(const char *root, const char *name, const char *text)
{
    char path[TEMP_PATH_MAX];
    temp_join(path, root, name);
    temp_write(path, text, strlen(text));
}

static struct finding run_check(void (*check)(const struct doctor_target *, struct finding *), const char *root,
                                const char *db)
{
    struct doctor_target target = { root, db };
    struct finding finding = { .name = "x" };
    check(&target, &finding);
    return finding;
}

static void delay_accounting_states(void **state)
{
    (void)state;
    char root[TEMP_PATH_MAX];
    temp_dir(root);
    assert_false(run_check(check_kernel_delays, root, NULL).there);
    a_file(root, "proc/sys/kernel/task_delayacct", "0\n");
    struct finding off = run_check(check_kernel_delays, root, NULL);
    assert_false(off.there);
    assert_string_equal(off.fix, "sysctl kernel.task_delayacct=1");
    a_file(root, "proc/sys/kernel/task_delayacct", "1\n");
    assert_true(run_check(check_kernel_delays, root, NULL).there);
    temp_remove(root);
}

/* Before Linux 5.14 there is no switch. */
static void delay_accounting_of_old_kernels(void **state)
{
    (void)state;
    char root[TEMP_PATH_MAX];
    temp_dir(root);
    a_file(root, "proc/sys/kernel/osrelease", "4.18.0-553.el8_10.x86_64\n");
    a_file(root, "proc/self/schedstat", "1234 5 6\n");
    a_file(root, "proc/cmdline", "ro quiet\n");
    assert_true(run_check(check_kernel_delays, root, NULL).there);
    a_file(root, "proc/cmdline", "ro nodelayacct\n");
    struct finding off = run_check(check_kernel_delays, root, NULL);
    assert_false(off.there);
    assert_string_equal(off.fix, "Boot without the parameter nodelayacct");
    temp_remove(root);
}

static int open_answer; /* errno for events of cgroups; 0: success */

static int play_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags)
{
    (void)attr, (void)pid, (void)cpu, (void)group_fd;
    if ((flags & PERF_FLAG_PID_CGROUP) && open_answer) {
        errno = open_answer;
        return -1;
    }
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void events_are_tried_for_a_cgroup(void **state)
{
    (void)state;
    char root[TEMP_PATH_MAX];
    int (*real)(struct perf_event_attr *, pid_t, int, int, unsigned long) = perf_event_open_call;
    perf_event_open_call = play_open;
    temp_dir(root);
    a_file(root, "proc/self/mountinfo", "30 20 0:30 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
    a_file(root, "sys/devices/system/cpu/online", "1-3\n");
    a_file(root, "cg/unified/cgroup.procs", "");
    struct finding finding = run_check(check_perf_jobs, root, NULL);
    assert_false(finding.there);
    assert_non_null(strstr(finding.fix, "cgroup v2"));
    a_file(root, "proc/self/mountinfo", "30 20 0:30 / /cg/unified rw - cgroup2 cgroup2 rw\n");
    assert_true(run_check(check_perf_jobs, root, NULL).there);
    open_answer = EACCES;
    finding = run_check(check_perf_jobs, root, NULL);
    assert_false(finding.there);
    assert_non_null(strstr(finding.fix, "CAP_PERFMON"));
    open_answer = EINVAL;
    finding = run_check(check_perf_jobs, root, NULL);
    assert_false(finding.there);
    assert_non_null(strstr(finding.fix, "CONFIG_CGROUP_PERF"));
    open_answer = 0;
    a_file(root, "proc/self/mountinfo", "30 20 0:30 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
                                        "31 20 0:31 / /cg/unified rw - cgroup2 cgroup2 rw\n");
    finding = run_check(check_perf_jobs, root, NULL);
    assert_true(finding.there);
    assert_non_null(strstr(finding.detail, "/cg/unified")); /* only mounted there */
    perf_event_open_call = real;
    temp_remove(root);
}

static void schedstat_of_zeros_is_unavailable(void **state)
{
    (void)state;
    char root[TEMP_PATH_MAX];
    temp_dir(root);
    a_file(root, "proc/self/schedstat", "0 0 0\n");
    assert_false(run_check(check_kernel_schedstat, root, NULL).there);
    a_file(root, "proc/self/schedstat", "1234 5 6\n");
    assert_true(run_check(check_kernel_schedstat, root, NULL).there);
    temp_remove(root);
}

static void hidepid_matters_to_users(void **state)
{
    (void)state;
    char root[TEMP_PATH_MAX];
    temp_dir(root);
    a_file(root, "proc/self/mountinfo",
           "1 0 0:1 / /data rw - proc proc rw,hidepid=2\n2 0 0:2 / /proc rw - proc proc rw\n");
    assert_true(run_check(check_kernel_hidepid, root, NULL).there);
    a_file(root, "proc/self/mountinfo",
           "1 0 0:1 / / rw - ext4 x rw\n2 0 0:2 / /proc rw - proc proc rw,hidepid=invisible\n");
    struct finding hidden = run_check(check_kernel_hidepid, root, NULL);
    assert_int_equal(hidden.there, geteuid() == 0); /* root is not restricted */
    if (geteuid())
        assert_non_null(strstr(hidden.reason, "hidepid=invisible"));
    temp_remove(root);
}

static void missing_store_will_be_created(void **state)
{
    (void)state;
    char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    temp_dir(dir);
    temp_join(path, dir, "deep/down/sonde.db");
    struct finding finding = run_check(check_install_store, "", path);
    assert_true(finding.there);
    assert_non_null(strstr(finding.detail, "(will be created)"));
    assert_int_not_equal(access(path, F_OK), 0); /* the check did not create it */
    temp_remove(dir);
}

static void every_check_has_a_result(void **state)
{
    (void)state;
    struct doctor_target target = { .root = "" };
    doctor_check(&doctor, &target, false);
    assert_true(doctor.count >= 20);
    for (size_t i = 0; i < doctor.count; i++) {
        const struct finding *finding = &doctor.findings[i];
        assert_true(strlen(finding->there ? finding->detail : finding->reason) > 0);
        assert_true(strlen(finding->name) < 19); /* width of the column */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optional_sources_may_be_missing),
        cmocka_unit_test(page_has_reason_and_fix),
        cmocka_unit_test(delay_accounting_states),
        cmocka_unit_test(delay_accounting_of_old_kernels),
        cmocka_unit_test(events_are_tried_for_a_cgroup),
        cmocka_unit_test(schedstat_of_zeros_is_unavailable),
        cmocka_unit_test(hidepid_matters_to_users),
        cmocka_unit_test(missing_store_will_be_created),
        cmocka_unit_test(every_check_has_a_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
