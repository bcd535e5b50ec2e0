/* A BMC simulated by OpenIPMI on loopback. */
#include "samplers/ipmi.h"

#include "base/clock.h"
#include "samplers/all.h"
#include "samplers/sampler_module.h"
#include "tools/sensing.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

struct simulator {
    pid_t pid;
    char directory[TEMP_PATH_MAX], host[32];
};

static bool has_program(const char *name)
{
    char command[128];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", name);
    return system(command) == 0;
}

static bool can_run(void)
{
    char path[4096];
    const char *directory = getenv("SONDE_MODULES");
    snprintf(path, sizeof path, "%s/sample-ipmi.so", directory ? directory : "");
    return has_program("ipmi_sim") && access(path, R_OK) == 0;
}

/* Starts it on its port. module: "bmc_dcmi.so", or NULL. */
static void run(struct simulator *sim, const char *module)
{
    char script[4096], library[4096] = "";
    const char *port = strchr(sim->host, ':') + 1;
    snprintf(script, sizeof script, "%s/tests/tools/bmc", getenv("SOURCE"));
    if (module)
        snprintf(library, sizeof library, "%s/%s", getenv("TOOLS"), module);
    sim->pid = fork();
    if (sim->pid == 0) {
        char log[TEMP_PATH_MAX];
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* even if the test fails */
        temp_join(log, sim->directory, "log");
        if (!freopen(log, "w", stdout) || !freopen(log, "w", stderr))
            _exit(1);
        execl(script, script, sim->directory, port, module ? library : NULL, NULL);
        _exit(127);
    }
    assert_true(sim->pid > 0);
}

static void start(struct simulator *sim, const char *module)
{
    static int started;
    snprintf(sim->host, sizeof sim->host, "127.0.0.1:%d", 20000 + (getpid() * 7 + started++) % 20000);
    temp_dir(sim->directory);
    run(sim, module);
}

static void end(struct simulator *sim)
{
    kill(sim->pid, SIGKILL);
    waitpid(sim->pid, NULL, 0);
}

static void stop(struct simulator *sim)
{
    end(sim);
    temp_remove(sim->directory);
}

static void prepare(struct sensing *s, const struct simulator *sim, const char *password)
{
    sensing_init(s, &sampler_ipmi, "");
    sensing_set(s, "host", sim->host);
    sensing_set(s, "user", "operator");
    sensing_set(s, "password", password);
    sensing_set(s, "privilege", "admin"); /* the simulator requires it for DCMI */
    sensing_set(s, "timeout", "2s");
}

/* The simulator takes a moment to start. */
static enum err open_when_it_is_up(struct sensing *s, const struct simulator *sim)
{
    enum err err = IO;
    for (int i = 0; i < 60 && err; i++) {
        prepare(s, sim, "secret");
        err = sensing_open(s);
    }
    return err;
}

static void sensors_are_read(void **state)
{
    (void)state;
    struct simulator sim;
    struct sensing s;
    if (!can_run())
        leave_out("ipmi_sim or sample-ipmi.so is not here");
    start(&sim, NULL);
    enum err err = open_when_it_is_up(&s, &sim);
    assert_int_equal(err, OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_near(sensing_f64(&s, "PowerDraw", "power"), 384, 1e-9);
    assert_near(sensing_f64(&s, "Temp", "temperature"), 41, 1e-9);
    assert_near(sensing_f64(&s, "Temp#2", "temperature"), 43, 1e-9);
    assert_near(sensing_f64(&s, "Fan1", "fan"), 5200, 1e-9);
    assert_null(sensing_find(&s, "Fan1", NULL, "power"));
    assert_null(sensing_sample(&s, "Missing", NULL));
    assert_null(sensing_sample(&s, "", NULL)); /* no DCMI: the node's power is unknown */
    sensing_end(&s);
    stop(&sim);
}

static void dcmi_reports_the_power_of_the_node(void **state)
{
    (void)state;
    struct simulator sim;
    struct sensing s;
    char path[4096];
    snprintf(path, sizeof path, "%s/bmc_dcmi.so", getenv("TOOLS"));
    if (!can_run() || access(path, R_OK) != 0)
        leave_out("ipmi_sim, sample-ipmi.so or the headers of OpenIPMI are not here");
    start(&sim, "bmc_dcmi.so");
    assert_int_equal(open_when_it_is_up(&s, &sim), OK);
    assert_int_equal(sensing_read(&s), OK);
    double first_w = sensing_f64(&s, "", "power");
    assert_true(first_w >= 300 && first_w < 400);
    assert_near(sensing_f64(&s, "", "power_least"), 110, 1e-9);
    assert_near(sensing_f64(&s, "", "power_most"), 480, 1e-9);
    assert_near(sensing_f64(&s, "", "power_average"), 222, 1e-9);
    assert_near(sensing_f64(&s, "", "power_window"), 60, 1e-9);
    assert_near(sensing_f64(&s, "PowerDraw", "power"), 384, 1e-9);
    assert_int_equal(sensing_read(&s), OK);
    assert_near(sensing_f64(&s, "", "power"), first_w + 1, 1e-9);
    sensing_end(&s);
    stop(&sim);
}

static void a_wrong_password_is_denied(void **state)
{
    (void)state;
    struct simulator sim;
    struct sensing s;
    if (!can_run())
        leave_out("ipmi_sim or sample-ipmi.so is not here");
    start(&sim, NULL);
    assert_int_equal(open_when_it_is_up(&s, &sim), OK);
    sensing_end(&s);
    prepare(&s, &sim, "guess");
    assert_int_equal(sensing_open(&s), DENIED);
    stop(&sim);
}

static void a_dead_bmc_is_a_failure(void **state)
{
    (void)state;
    struct simulator sim;
    struct sensing s;
    if (!can_run())
        leave_out("ipmi_sim or sample-ipmi.so is not here");
    start(&sim, NULL);
    assert_int_equal(open_when_it_is_up(&s, &sim), OK);
    stop(&sim);
    uint64_t begin_ns = clock_monotonic_ns();
    enum err err = sensing_read(&s);
    assert_true(err != OK && err != AGAIN);
    assert_int_equal(s.batch.count, 0);
    assert_true(clock_monotonic_ns() - begin_ns < 60 * NS_PER_S);
    sensing_end(&s);
}

static void a_lost_session_is_reopened(void **state)
{
    (void)state;
    struct simulator sim;
    struct sensing s;
    if (!can_run())
        leave_out("ipmi_sim or sample-ipmi.so is not here");
    start(&sim, NULL);
    assert_int_equal(open_when_it_is_up(&s, &sim), OK);
    assert_int_equal(sensing_read(&s), OK);
    end(&sim);
    run(&sim, NULL);
    enum err err = IO;
    for (int i = 0; i < 60 && err; i++) { /* until it runs */
        usleep(500000);
        err = sensing_read(&s);
    }
    assert_int_equal(err, OK);
    assert_near(sensing_f64(&s, "Fan1", "fan"), 5200, 1e-9);
    sensing_end(&s);
    stop(&sim);
}

static void a_password_may_come_from_a_file(void **state)
{
    (void)state;
    struct simulator sim;
    struct sensing s;
    char path[TEMP_PATH_MAX];
    if (!can_run())
        leave_out("ipmi_sim or sample-ipmi.so is not here");
    start(&sim, NULL);
    assert_int_equal(open_when_it_is_up(&s, &sim), OK);
    sensing_end(&s);
    sensing_put(sim.directory, "password", "secret\n");
    temp_join(path, sim.directory, "password");
    prepare(&s, &sim, "not this");
    sensing_set(&s, "password_file", path);
    sensing_set(&s, "sensors", "no");
    assert_int_equal(sensing_open(&s), ABSENT); /* it has sensors but no DCMI */
    stop(&sim);
}

static void without_a_bmc_it_is_absent(void **state)
{
    (void)state;
    struct sensing s;
    assert_int_equal(sensing_begin(&s, &sampler_ipmi, "/nonexistent"), ABSENT);
    if (access("/dev/ipmi0", F_OK) != 0 && access("/dev/ipmi/0", F_OK) != 0)
        assert_int_equal(sensing_begin(&s, &sampler_ipmi, ""), ABSENT);
}

static void without_its_module_it_is_absent(void **state)
{
    (void)state;
    struct sensing s;
    char before[4096], error[256] = "";
    const struct sampler *sampler;
    snprintf(before, sizeof before, "%s", getenv("SONDE_MODULES") ? getenv("SONDE_MODULES") : "");
    setenv("SONDE_MODULES", "/nonexistent", 1);
    sensing_init(&s, &sampler_ipmi, "");
    sensing_set(&s, "host", "127.0.0.1:9");
    assert_int_equal(sensing_open(&s), ABSENT);
    assert_int_equal(sampler_module_load("ipmi", &sampler, error, sizeof error), ABSENT);
    assert_string_equal(error, "sample-ipmi.so is not installed");
    setenv("SONDE_MODULES", before, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sensors_are_read),
        cmocka_unit_test(dcmi_reports_the_power_of_the_node),
        cmocka_unit_test(a_wrong_password_is_denied),
        cmocka_unit_test(a_dead_bmc_is_a_failure),
        cmocka_unit_test(a_lost_session_is_reopened),
        cmocka_unit_test(a_password_may_come_from_a_file),
        cmocka_unit_test(without_a_bmc_it_is_absent),
        cmocka_unit_test(without_its_module_it_is_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
