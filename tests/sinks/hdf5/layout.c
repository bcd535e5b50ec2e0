/* Packing of Colmet's rows, and file names. */
#include "sinks/hdf5/layout.h"

#include "sinks/hdf5/names.h"

#include "tools/temp.h"
#include "tools/unit.h"

static struct hdf5_layout layout;

static const struct hdf5_column *column(const char *name)
{
    for (size_t i = 0; i < layout.count; i++)
        if (!strcmp(layout.columns[i].name, name))
            return &layout.columns[i];
    return NULL;
}

static int64_t i64_at(const uint8_t *row, const char *name)
{
    int64_t number;
    assert_non_null(column(name));
    memcpy(&number, row + column(name)->offset, 8);
    return number;
}

static void sizes_and_chunks_are_those_of_pytables(void **state)
{
    (void)state;
    static const struct { int id; size_t row, chunk; } cases[] = {
        { COLMET_TASKSTATS, 766, 85 }, { COLMET_INFINIBAND, 8750, 14 }, { COLMET_LUSTRE, 8750, 14 },
        { COLMET_RAPL, 8910, 14 }, { COLMET_PERFHW, 566, 115 }, { COLMET_IPMI, 8726, 15 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hdf5_layout_make(&layout, cases[i].id, 8192);
        assert_int_equal(layout.row_size, cases[i].row);
        assert_int_equal(layout.chunk_rows, cases[i].chunk);
        for (size_t k = 1; k < layout.count; k++)
            assert_true(strcmp(layout.columns[k - 1].name, layout.columns[k].name) < 0);
    }
}

static void columns_missing_in_colmets_files_exist(void **state)
{
    (void)state;
    hdf5_layout_make(&layout, COLMET_TEMPERATURE, 8192);
    assert_true(column("timestamp") && column("hostname") && column("job_id"));
    hdf5_layout_make(&layout, COLMET_RAPL, 8192);
    assert_non_null(column("counter_24"));
    hdf5_layout_make(&layout, COLMET_JOBPROC, 8192);
    assert_true(column("VmRSS") && column("RssShmem") && column("VmSize"));
    hdf5_layout_make(&layout, COLMET_PROCSTATS, 8192);
    assert_non_null(column("involved_jobs"));
    hdf5_layout_make(&layout, COLMET_NVIDIA, 8192);
    assert_non_null(column("utilization-gpu"));
}

static void values_are_packed_and_unknown_ones_are_minus_one(void **state)
{
    (void)state;
    union value values[30] = { [0].u64 = 8586, [1].u64 = UINT64_MAX };
    uint8_t known[30] = { 1, 1 }, row[766];
    const struct colmet_row expected = {
        .backend = &colmet_backends[COLMET_TASKSTATS], .host = "node1", .job = 42, .time_s = 1794767178, .values = values,
        .known = known,
    };
    hdf5_layout_make(&layout, COLMET_TASKSTATS, 8192);
    memset(row, 'x', sizeof row);
    hdf5_layout_pack(&layout, &expected, row);
    assert_int_equal(i64_at(row, "cpu_count"), 8586);
    assert_int_equal(i64_at(row, "cpu_delay_total"), -1);
    assert_int_equal(i64_at(row, "blkio_count"), -1);
    assert_int_equal(i64_at(row, "job_id"), 42);
    assert_int_equal(i64_at(row, "timestamp"), 1794767178);
    assert_string_equal((char *)row + column("hostname")->offset, "node1");
    assert_string_equal((char *)row + column("metric_backend")->offset, "taskstats_default");
}

static void a_list_of_jobs_is_truncated_after_a_number(void **state)
{
    (void)state;
    const uint64_t jobs[] = { 42, 43, 4711 };
    struct colmet_row expected = { .involved = jobs, .involved_count = 3 };
    char text[32];
    colmet_rows_involved(&expected, text, sizeof text);
    assert_string_equal(text, "[42, 43, 4711]");
    colmet_rows_involved(&expected, text, 14);
    assert_string_equal(text, "[42, 43]");
    expected.involved_count = 0;
    colmet_rows_involved(&expected, text, sizeof text);
    assert_string_equal(text, "[]");
}

static void files_are_named_by_the_time(void **state)
{
    (void)state;
    char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX], file[TEMP_PATH_MAX], name[PATH_MAX];
    uint64_t newest = 0;
    temp_dir(dir);
    temp_join(path, dir, "colmet");
    assert_false(hdf5_names_is_fixed(path));
    assert_true(hdf5_names_is_fixed("a.hdf5"));
    assert_int_equal(hdf5_names_newest(path, &newest), ABSENT);
    static const char *const names[] = { "colmet.17.hdf5", "colmet.9.hdf5", "colmet.99.hdf5.new", "colmet.x.hdf5",
                                         "colmetal.100.hdf5" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        temp_join(file, dir, names[i]);
        temp_write(file, "", 0);
    }
    assert_int_equal(hdf5_names_newest(path, &newest), OK);
    assert_int_equal(newest, 17);
    assert_int_equal(hdf5_names_make("colmet", 1700000000, name), OK);
    assert_string_equal(name, "colmet.1700000000.hdf5");
    temp_join(file, dir, "new/directory/colmet");
    assert_int_equal(hdf5_names_make_parents(file), OK);
    assert_int_equal(hdf5_names_newest(file, &newest), ABSENT);
    temp_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_chunks_are_those_of_pytables),
        cmocka_unit_test(columns_missing_in_colmets_files_exist),
        cmocka_unit_test(values_are_packed_and_unknown_ones_are_minus_one),
        cmocka_unit_test(a_list_of_jobs_is_truncated_after_a_number),
        cmocka_unit_test(files_are_named_by_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
