/* For which programs the probe sends a notice. */
#include "tools/unit.h"
#include "tools/probed.h"
#include "spool/probe_env.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static struct probed probed;
static char script[TEMP_PATH_MAX], bell[TEMP_PATH_MAX + 8];
static int notices_fd;

static int open_probed(void **state)
{
    (void)state;
    probed_open(&probed);
    snprintf(bell, sizeof bell, "%s%s", probed.spool, SPOOL_NOTICES_SUFFIX);
    assert_int_equal(mkfifo(bell, 0600), 0);
    notices_fd = open(bell, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_true(notices_fd >= 0);
    probed.env[0] = PROBE_ENV_FLAGS "=b";
    temp_join(script, probed.dir, "script");
    return 0;
}

static int close_probed(void **state)
{
    (void)state;
    close(notices_fd);
    unlink(bell);
    unlink(script);
    probed_close(&probed);
    return 0;
}

/* Number of notices when a shell executes this; *pid: the subject of the last. */
static size_t notices_for(const char *line, uint32_t *pid)
{
    struct probe_notice notices[64];
    char *const argv[] = { "/bin/bash", "-c", (char *)line, NULL };
    probed_program(&probed, argv);
    ssize_t got = read(notices_fd, notices, sizeof notices);
    if (got <= 0)
        return 0;
    *pid = notices[got / (ssize_t)sizeof *notices - 1].pid;
    return (size_t)got / sizeof *notices;
}

static void make_script(const char *text, mode_t mode)
{
    unlink(script);
    temp_write(script, text, strlen(text));
    assert_int_equal(chmod(script, mode), 0);
}

static void no_notice_for_probed_programs(void **state)
{
    (void)state;
    uint32_t pid;
    assert_int_equal(notices_for("/bin/true; exec /bin/true", &pid), 0);
    make_script("#! /bin/sh -e\ntrue\n", 0755);
    char line[TEMP_PATH_MAX + 16];
    snprintf(line, sizeof line, "exec %s", script);
    assert_int_equal(notices_for(line, &pid), 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_image), 5); /* a shell and two programs; a shell and the script */
}

static void a_notice_for_static_programs(void **state)
{
    (void)state;
    char line[2 * TEMP_PATH_MAX];
    uint32_t pid = 0;
    snprintf(line, sizeof line, "exec %s/burn_static 1", getenv("TOOLS"));
    assert_int_equal(notices_for(line, &pid), 1);
    assert_int_equal(pid, probed.pid);
}

static void a_notice_for_other_environments(void **state)
{
    (void)state;
    uint32_t pid = 0;
    assert_int_equal(notices_for("exec env -i /bin/true", &pid), 1);
    assert_int_equal(pid, probed.pid);
    assert_int_equal(notices_for("unset SONDE_SPOOL; exec /bin/true", &pid), 1);
    assert_int_equal(notices_for("SONDE_SPOOL=/spool/of/another exec /bin/true", &pid), 1);
}

/* It executes others by raw system calls, so only it can send the notice. */
static void go_programs_send_a_notice_themselves(void **state)
{
    (void)state;
    char line[TEMP_PATH_MAX];
    uint32_t pid = 0;
    snprintf(line, sizeof line, "exec %s/burn_go_note 1", getenv("TOOLS"));
    assert_int_equal(notices_for(line, &pid), 1);
    assert_int_equal(pid, probed.pid);
    assert_int_equal(probed_count(&probed, RECORD_KIND_image), 2);
}

/* Under a filter, checking the program may be fatal. */
static void under_a_seccomp_filter_always_a_notice(void **state)
{
    (void)state;
    uint32_t pid = 0;
    probed.env[0] = PROBE_ENV_FLAGS "=bs";
    assert_int_equal(notices_for("exec /bin/true", &pid), 1);
}

static void a_notice_if_unknown(void **state)
{
    (void)state;
    const char *strings[] = { "#!", "#!/does/not/exist\n", "\177ELF", "MZ", "#! \n" };
    char line[TEMP_PATH_MAX + 32];
    uint32_t pid;
    snprintf(line, sizeof line, "exec %s", script);
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        make_script(strings[i], 0755);
        assert_true(notices_for(line, &pid) >= 1);
    }
}

static void a_notice_for_set_uid_programs(void **state)
{
    (void)state;
    char line[TEMP_PATH_MAX + 96];
    uint32_t pid;
    if (geteuid() != 0)
        leave_out("needs root");
    snprintf(line, sizeof line, "f=%s; cp /bin/true $f; chown nobody $f; chmod u+s $f; exec $f", script);
    assert_int_equal(notices_for(line, &pid), 1);
}

/* The spool may be out of reach afterwards. */
static void a_notice_before_leaving(void **state)
{
    (void)state;
    uint32_t pid = 0;
    assert_int_equal(notices_for("exec unshare /bin/true", &pid), 1);
    assert_int_equal(pid, probed.pid);
    assert_int_equal(notices_for("exec setpriv --no-new-privs /bin/true", &pid), 1);
    if (geteuid() != 0)
        return;
    assert_int_equal(notices_for("exec chroot / /bin/true", &pid), 1);
    assert_true(notices_for("exec setpriv --reuid 65534 /bin/true", &pid) >= 1);
}

static void without_the_flag_no_notice(void **state)
{
    (void)state;
    uint32_t pid;
    probed.env[0] = PROBE_ENV_FLAGS "=";
    assert_int_equal(notices_for("exec env -i /bin/true", &pid), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_notice_for_probed_programs, open_probed, close_probed),
        cmocka_unit_test_setup_teardown(a_notice_for_static_programs, open_probed, close_probed),
        cmocka_unit_test_setup_teardown(a_notice_for_other_environments, open_probed, close_probed),
        cmocka_unit_test_setup_teardown(go_programs_send_a_notice_themselves, open_probed, close_probed),
        cmocka_unit_test_setup_teardown(under_a_seccomp_filter_always_a_notice, open_probed, close_probed),
        cmocka_unit_test_setup_teardown(a_notice_if_unknown, open_probed, close_probed),
        cmocka_unit_test_setup_teardown(a_notice_for_set_uid_programs, open_probed, close_probed),
        cmocka_unit_test_setup_teardown(a_notice_before_leaving, open_probed, close_probed),
        cmocka_unit_test_setup_teardown(without_the_flag_no_notice, open_probed, close_probed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
