/* Which programs to come the probe rings the bell for. */
#include "tools/unit.h"
#include "tools/probed.h"
#include "spool/probe_env.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static struct probed probed;
static char script[TEMP_PATH_MAX], bell[TEMP_PATH_MAX + 8];
static int bell_fd;

static int open_probed(void **state)
{
    (void)state;
    probed_open(&probed);
    snprintf(bell, sizeof bell, "%s%s", probed.spool, SPOOL_NOTICES_SUFFIX);
    assert_int_equal(mkfifo(bell, 0600), 0);
    bell_fd = open(bell, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_true(bell_fd >= 0);
    probed.env[0] = PROBE_ENV_FLAGS "=b";
    temp_join(script, probed.dir, "script");
    return 0;
}

static int close_probed(void **state)
{
    (void)state;
    close(bell_fd);
    unlink(bell);
    unlink(script);
    probed_close(&probed);
    return 0;
}

/* How often it rings when a shell becomes this; *pid is who it rang for last. */
static size_t rings_for(const char *line, uint32_t *pid)
{
    struct probe_notice rings[64];
    char *const argv[] = { "/bin/bash", "-c", (char *)line, NULL };
    probed_program(&probed, argv);
    ssize_t got = read(bell_fd, rings, sizeof rings);
    if (got <= 0)
        return 0;
    *pid = rings[got / (ssize_t)sizeof *rings - 1].pid;
    return (size_t)got / sizeof *rings;
}

static void make_script(const char *text, mode_t mode)
{
    unlink(script);
    temp_write(script, text, strlen(text));
    assert_int_equal(chmod(script, mode), 0);
}

static void programs_that_carry_the_probe_are_quiet(void **state)
{
    (void)state;
    uint32_t pid;
    assert_int_equal(rings_for("/bin/true; exec /bin/true", &pid), 0);
    make_script("#! /bin/sh -e\ntrue\n", 0755);
    char line[TEMP_PATH_MAX + 16];
    snprintf(line, sizeof line, "exec %s", script);
    assert_int_equal(rings_for(line, &pid), 0);
    assert_int_equal(probed_count(&probed, RECORD_KIND_image), 5); /* a shell and two programs; a shell and the script */
}

static void static_ones_ring(void **state)
{
    (void)state;
    char line[2 * TEMP_PATH_MAX];
    uint32_t pid = 0;
    snprintf(line, sizeof line, "exec %s/burn_static 1", getenv("TOOLS"));
    assert_int_equal(rings_for(line, &pid), 1);
    assert_int_equal(pid, probed.pid);
}

static void who_has_no_environment_of_ours_rings(void **state)
{
    (void)state;
    uint32_t pid = 0;
    assert_int_equal(rings_for("exec env -i /bin/true", &pid), 1);
    assert_int_equal(pid, probed.pid);
    assert_int_equal(rings_for("unset SONDE_SPOOL; exec /bin/true", &pid), 1);
    assert_int_equal(rings_for("SONDE_SPOOL=/spool/of/another exec /bin/true", &pid), 1);
}

/* It executes others by system calls of its own, and only it itself can ring for them. */
static void programs_in_go_ring_for_themselves(void **state)
{
    (void)state;
    char line[TEMP_PATH_MAX];
    uint32_t pid = 0;
    snprintf(line, sizeof line, "exec %s/burn_go_note 1", getenv("TOOLS"));
    assert_int_equal(rings_for(line, &pid), 1);
    assert_int_equal(pid, probed.pid);
    assert_int_equal(probed_count(&probed, RECORD_KIND_image), 2);
}

/* A filter may kill who looks at the program to come. */
static void under_a_filter_everybody_rings(void **state)
{
    (void)state;
    uint32_t pid = 0;
    probed.env[0] = PROBE_ENV_FLAGS "=bs";
    assert_int_equal(rings_for("exec /bin/true", &pid), 1);
}

static void what_cannot_be_told_rings(void **state)
{
    (void)state;
    const char *texts[] = { "#!", "#!/does/not/exist\n", "\177ELF", "MZ", "#! \n" };
    char line[TEMP_PATH_MAX + 32];
    uint32_t pid;
    snprintf(line, sizeof line, "exec %s", script);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        make_script(texts[i], 0755);
        assert_true(rings_for(line, &pid) >= 1);
    }
}

static void rights_of_another_user_ring(void **state)
{
    (void)state;
    char line[TEMP_PATH_MAX + 96];
    uint32_t pid;
    if (geteuid() != 0)
        leave_out("needs root");
    snprintf(line, sizeof line, "f=%s; cp /bin/true $f; chown nobody $f; chmod u+s $f; exec $f", script);
    assert_int_equal(rings_for(line, &pid), 1);
}

/* The spool may be out of reach then. */
static void who_leaves_rings(void **state)
{
    (void)state;
    uint32_t pid = 0;
    assert_int_equal(rings_for("exec unshare /bin/true", &pid), 1);
    assert_int_equal(pid, probed.pid);
    assert_int_equal(rings_for("exec setpriv --no-new-privs /bin/true", &pid), 1);
    if (geteuid() != 0)
        return;
    assert_int_equal(rings_for("exec chroot / /bin/true", &pid), 1);
    assert_true(rings_for("exec setpriv --reuid 65534 /bin/true", &pid) >= 1);
}

static void without_the_flag_nobody_rings(void **state)
{
    (void)state;
    uint32_t pid;
    probed.env[0] = PROBE_ENV_FLAGS "=";
    assert_int_equal(rings_for("exec env -i /bin/true", &pid), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(programs_that_carry_the_probe_are_quiet, open_probed, close_probed),
        cmocka_unit_test_setup_teardown(static_ones_ring, open_probed, close_probed),
        cmocka_unit_test_setup_teardown(who_has_no_environment_of_ours_rings, open_probed, close_probed),
        cmocka_unit_test_setup_teardown(programs_in_go_ring_for_themselves, open_probed, close_probed),
        cmocka_unit_test_setup_teardown(under_a_filter_everybody_rings, open_probed, close_probed),
        cmocka_unit_test_setup_teardown(what_cannot_be_told_rings, open_probed, close_probed),
        cmocka_unit_test_setup_teardown(rights_of_another_user_ring, open_probed, close_probed),
        cmocka_unit_test_setup_teardown(who_leaves_rings, open_probed, close_probed),
        cmocka_unit_test_setup_teardown(without_the_flag_nobody_rings, open_probed, close_probed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
