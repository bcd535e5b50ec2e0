/* Labels of numbered counters: new once, new again when they change, and as Colmet's CSV files. */
#include "compat/colmet/mapping.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <dirent.h>
#include <sys/stat.h>

static const char *perf_labels[] = { "cpu_clock", "page_faults", NULL, NULL, NULL };
static struct colmet_row perf = { .backend = &colmet_backends[COLMET_PERFHW], .host = "node1", .labels = perf_labels };

static void labels_are_new_once_per_host_and_when_they_change(void **state)
{
    (void)state;
    struct colmet_mapping mapping = { 0 };
    const struct colmet_row none = { .backend = &colmet_backends[COLMET_PERFHW], .host = "node1" };
    assert_false(colmet_mapping_is_new(&mapping, &none));
    assert_true(colmet_mapping_is_new(&mapping, &perf));
    assert_int_equal(colmet_mapping_note(&mapping, &perf), OK);
    assert_false(colmet_mapping_is_new(&mapping, &perf));
    perf_labels[1] = "instructions";
    assert_true(colmet_mapping_is_new(&mapping, &perf));
    perf_labels[1] = "page_faults";
    for (int i = 0; i < 1000; i++) {
        char host[32];
        snprintf(host, sizeof host, "n%d", i);
        struct colmet_row other = perf;
        other.host = host;
        assert_true(colmet_mapping_is_new(&mapping, &other));
        assert_int_equal(colmet_mapping_note(&mapping, &other), OK);
        assert_false(colmet_mapping_is_new(&mapping, &other));
    }
    assert_false(colmet_mapping_is_new(&mapping, &perf));
    colmet_mapping_clear(&mapping);
}

static void files_match_colmets(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 4096);
    colmet_mapping_csv(&perf, &out);
    assert_string_equal(buf_text(&out), "counter1,cpu_clock\ncounter2,page_faults\ncounter3,no_counter\ncounter4,no_counter\n"
                                        "counter5,no_counter\n");
    const char *labels[24] = { "energy_microjoule,package-0,zone_package", "max_energy_range_microjoule,package-0,zone_package" };
    struct colmet_row row = { .backend = &colmet_backends[COLMET_RAPL], .host = "node1", .labels = labels };
    buf_reset(&out);
    colmet_mapping_csv(&row, &out);
    assert_non_null(strstr(buf_text(&out), "counter_1,energy_microjoule,package-0,zone_package\ncounter_2,max_energy_range_"
                                           "microjoule,package-0,zone_package\ncounter_3,counter_not_supported_by_hardware,,\n"));
    assert_non_null(strstr(buf_text(&out), "counter_7,no_counter,,\n"));
    const char *zones[6] = { "x86_pkg_temp_0" };
    row = (struct colmet_row){ .backend = &colmet_backends[COLMET_TEMPERATURE], .host = "node1", .labels = zones };
    buf_reset(&out);
    colmet_mapping_csv(&row, &out);
    assert_non_null(strstr(buf_text(&out), "counter_1, x86_pkg_temp_0\ncounter_2, no counter \n"));
    buf_clear(&out);
}

static size_t count_files(const char *path, const char *begins)
{
    size_t count = 0;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        count += !strncmp(entry->d_name, begins, strlen(begins));
    closedir(dir);
    return count;
}

static void files_can_be_in_a_directory_per_host(void **state)
{
    (void)state;
    char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    temp_dir(dir);
    assert_int_equal(colmet_mapping_write(&perf, dir, false), OK);
    assert_int_equal(count_files(dir, "perfhw_mapping."), 1);
    assert_int_equal(colmet_mapping_write(&perf, dir, true), OK);
    temp_join(path, dir, "node1");
    assert_int_equal(count_files(path, "perfhw_mapping."), 1);
    struct colmet_row evil = perf;
    evil.host = "..";
    assert_int_equal(colmet_mapping_write(&evil, dir, true), USAGE);
    temp_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_new_once_per_host_and_when_they_change),
        cmocka_unit_test(files_match_colmets),
        cmocka_unit_test(files_can_be_in_a_directory_per_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
