/* Temperatures of captured nodes, and sensors that do not answer. */
#include "samplers/all.h"

#include "tools/node.h"
#include "tools/sensing.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Replaces libc's function: returns for one file the error of a chip that does not answer. */
static ino_t refused_inode;
static int refused_with;

ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
    struct stat stat;
    if (refused_with && fstat(fd, &stat) == 0 && stat.st_ino == refused_inode) {
        errno = refused_with;
        return -1;
    }
    return syscall(SYS_pread64, fd, data, size, offset);
}

static void zones_and_chips_are_read(void **state)
{
    (void)state;
    struct sensing s;
    assert_int_equal(sensing_begin(&s, &sampler_temperature, node_root("sensors")), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(s.batch.count, 3 + 1 + 3 + 3 + 1);
    assert_near(sensing_f64(&s, "x86_pkg_temp_0", "temperature"), 41, 1e-9);
    assert_near(sensing_f64(&s, "x86_pkg_temp_1", "temperature"), 39, 1e-9);
    assert_near(sensing_f64(&s, "acpitz_2", "temperature"), 27.8, 1e-9);
    assert_null(sensing_find(&s, "acpitz_2", NULL, "critical"));
    assert_near(sensing_f64(&s, "coretemp/Package id 0", "temperature"), 41, 1e-9);
    assert_near(sensing_f64(&s, "coretemp/Core 9", "temperature"), 39, 1e-9);
    assert_near(sensing_f64(&s, "coretemp.1/Core 9", "temperature"), 37, 1e-9);
    assert_near(sensing_f64(&s, "coretemp.1/Core 9", "critical"), 104, 1e-9);
    assert_near(sensing_f64(&s, "nvme/temp1", "temperature"), -1.85, 1e-9);
    assert_near(sensing_f64(&s, "i350bb/temp1", "temperature"), 56, 1e-9);
    sensing_end(&s);
}

static void implausible_values_are_unknown(void **state)
{
    (void)state;
    struct sensing s;
    assert_int_equal(sensing_begin(&s, &sampler_temperature, node_root("sick")), OK);
    assert_int_equal(sensing_read(&s), OK);
    static const char *const unknown[] = { "zone_0", "zone_2", "zone_3", "zone_4", "we_ird__chip/temp1" };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_null(sensing_find(&s, unknown[i], NULL, "temperature"));
    assert_near(sensing_f64(&s, "zone_1", "temperature"), 0.041, 1e-9); /* truncated */
    assert_near(sensing_f64(&s, "thermal_zone5", "temperature"), 55, 1e-9);
    assert_near(sensing_f64(&s, "we_ird__chip/temp2", "temperature"), 30, 1e-9);
    assert_null(sensing_find(&s, "we_ird__chip/temp2", NULL, "critical"));
    assert_near(sensing_f64(&s, "old/temp1", "temperature"), 20, 1e-9);
    assert_null(sensing_sample(&s, "thermal_zone6", NULL));
    sensing_end(&s);
}

static void a_failing_sensor_does_not_affect_others(void **state)
{
    (void)state;
    struct sensing s;
    struct stat stat_of;
    char path[TEMP_PATH_MAX];
    assert_int_equal(sensing_begin(&s, &sampler_temperature, node_root("sensors")), OK);
    temp_join(path, s.root, "sys/class/thermal/thermal_zone1/temp");
    assert_int_equal(stat(path, &stat_of), 0);
    refused_inode = stat_of.st_ino;
    static const int numbers[] = { EIO, ENODATA, EAGAIN, ENXIO, EINVAL };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        refused_with = numbers[i];
        assert_int_equal(sensing_read(&s), OK);
        assert_null(sensing_find(&s, "x86_pkg_temp_1", NULL, "temperature"));
        assert_near(sensing_f64(&s, "x86_pkg_temp_0", "temperature"), 41, 1e-9);
        assert_near(sensing_f64(&s, "acpitz_2", "temperature"), 27.8, 1e-9);
    }
    refused_with = 0;
    assert_int_equal(sensing_read(&s), OK);
    assert_near(sensing_f64(&s, "x86_pkg_temp_1", "temperature"), 39, 1e-9);
    sensing_end(&s);
}

static void a_file_that_gives_EIO_for_real(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    sensing_copy(root, node_root("sensors"));
    temp_join(path, root, "sys/class/thermal/thermal_zone0/temp");
    unlink(path);
    assert_int_equal(symlink("/proc/self/mem", path), 0); /* nothing is mapped at 0 */
    assert_int_equal(sensing_begin(&s, &sampler_temperature, root), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_null(sensing_find(&s, "x86_pkg_temp_0", NULL, "temperature"));
    assert_near(sensing_f64(&s, "x86_pkg_temp_1", "temperature"), 39, 1e-9);
    sensing_end(&s);
    temp_remove(root);
}

static void without_hardware_it_is_absent(void **state)
{
    (void)state;
    struct sensing s;
    assert_int_equal(sensing_begin(&s, &sampler_temperature, "/nonexistent"), ABSENT);
    assert_int_equal(sensing_begin(&s, &sampler_temperature, node_root("vm")), ABSENT);
}

static void here_it_is_read_or_absent(void **state)
{
    (void)state;
    struct sensing s;
    enum err err = sensing_begin(&s, &sampler_temperature, "");
    if (access("/sys/class/thermal/thermal_zone0/temp", R_OK) != 0 && access("/sys/class/hwmon/hwmon0", F_OK) != 0) {
        assert_int_equal(err, ABSENT);
        leave_out("no sensor on this machine");
    }
    assert_int_equal(err, OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_true(s.batch.count > 0);
    sensing_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zones_and_chips_are_read),
        cmocka_unit_test(implausible_values_are_unknown),
        cmocka_unit_test(a_failing_sensor_does_not_affect_others),
        cmocka_unit_test(a_file_that_gives_EIO_for_real),
        cmocka_unit_test(without_hardware_it_is_absent),
        cmocka_unit_test(here_it_is_read_or_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
