/* A module logs with the name and level of the program. stderr is redirected to a file. */
#include "base/log.h"

#include "base/module.h"
#include "tools/log_module.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct log_module *load(void)
{
    const uint32_t mark = LOG_MODULE_MARK;
    const struct module wanted = { .file = "log-module.so", .symbol = "sonde_log_module", .versions = &mark, .version_count = 1 };
    const void *found = NULL;
    char folder[TEMP_PATH_MAX], why[512] = "";
    snprintf(folder, sizeof folder, "%s/tests", getenv("BUILD"));
    setenv("SONDE_MODULES", folder, 1);
    if (module_load(&wanted, &found, why, sizeof why))
        fail_msg("%s", why);
    return found;
}

/* text: what say wrote to stderr. */
static void listen_to(void (*say)(const char *text), const char *word, char text[256])
{
    char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    temp_dir(dir);
    temp_join(path, dir, "log");
    int before = dup(STDERR_FILENO), fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(before >= 0 && fd >= 0);
    dup2(fd, STDERR_FILENO);
    say(word);
    dup2(before, STDERR_FILENO);
    ssize_t got = pread(fd, text, 255, 0);
    text[got > 0 ? got : 0] = '\0';
    close(before);
    close(fd);
    temp_remove(dir);
}

static void a_module_uses_the_log_name_and_level_of_the_program(void **state)
{
    (void)state;
    char text[256];
    const struct log_module *module = load();
    listen_to(module->inform, "more", text);
    assert_string_equal(text, "");
    listen_to(module->warn, "less", text);
    assert_string_equal(text, "sonde: less\n");
    log_set_name("tau_metric_proxy");
    log_set_level(1); /* also what is set when it is loaded already */
    listen_to(module->inform, "more", text);
    assert_string_equal(text, "tau_metric_proxy: more\n");
    log_set_level(-1);
    listen_to(module->warn, "less", text);
    assert_string_equal(text, "");
    log_set_level(0);
    log_set_name("sonde");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_module_uses_the_log_name_and_level_of_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
