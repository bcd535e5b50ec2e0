/* The probe that serves as a template works. */
#include "tools/probed.h"
#include "tools/unit.h"

#include <unistd.h>

static void the_null_probe_counts(void **state)
{
    (void)state;
    struct probed probed;
    struct set_record set;
    struct sample_record sample;
    char pid[16], tool[TEMP_PATH_MAX];
    probed_open(&probed);
    temp_join(tool, getenv("TOOLS"), "acts");
    probed_program(&probed, (char *[]){ tool, "sync", "2", NULL });
    assert_int_equal(probed.status, 0);
    assert_int_equal(probed.count, 2);
    assert_true(probed_set(&probed, 0, &set) && probed_sample(&probed, 0, &sample));
    assert_bytes(set.name, "null");
    assert_int_equal(set.size, 1);
    assert_int_equal(set.set, sample.set);
    assert_bytes(sample.values, "\1\2");
    size_t size = (size_t)snprintf(pid, sizeof pid, "%d", (int)probed.pid);
    assert_int_equal(sample.instance.size, size);
    assert_memory_equal(sample.instance.data, pid, size);
    probed_close(&probed);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_null_probe_counts) };
    char path[TEMP_PATH_MAX];
    temp_join(path, getenv("BUILD"), "src/probe/libsonde-null.so");
    setenv("PROBE", path, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
