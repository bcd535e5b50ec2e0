/* Ports of captured nodes. */
#include "samplers/all.h"

#include "tools/node.h"
#include "tools/sensing.h"

#include <unistd.h>

static void counters_are_read_by_name(void **state)
{
    (void)state;
    struct sensing s;
    assert_int_equal(sensing_begin(&s, &sampler_infiniband, node_root("sensors")), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(s.batch.count, 4);
    assert_int_equal(sensing_u64(&s, "mlx5_0/1", "receive"), 2251799813685248ull * 4); /* more than 2^53 */
    assert_int_equal(sensing_u64(&s, "mlx5_0/1", "transmit"), 4000000000ull);
    assert_int_equal(sensing_u64(&s, "mlx5_0/1", "receive_packets"), 10000000001);
    assert_int_equal(sensing_u64(&s, "mlx5_0/1", "transmit_packets"), 20000000002);
    assert_int_equal(sensing_u64(&s, "mlx5_0/1", "vl15_dropped"), 1);
    assert_int_equal(sensing_u64(&s, "mlx5_0/1", "symbol_errors"), 15);
    assert_int_equal(sensing_u64(&s, "mlx5_0/1", "congestion_notices_handled"), 12);
    assert_int_equal(sensing_u64(&s, "mlx5_0/1", "state"), 4);
    assert_int_equal(sensing_u64(&s, "mlx5_0/1", "physical_state"), 5);
    assert_near(sensing_f64(&s, "mlx5_0/1", "rate"), 25e9, 1);
    assert_int_equal(sensing_u64(&s, "mlx5_1/1", "state"), 1);
    assert_int_equal(sensing_u64(&s, "mlx5_1/1", "receive"), 0);
    sensing_end(&s);
}

static void omni_path_has_fewer_counters(void **state)
{
    (void)state;
    struct sensing s;
    assert_int_equal(sensing_begin(&s, &sampler_infiniband, node_root("sensors")), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(sensing_u64(&s, "hfi1_0/1", "receive"), 1600);
    assert_int_equal(sensing_u64(&s, "hfi1_0/1", "transmit"), 2000);
    assert_null(sensing_find(&s, "hfi1_0/1", NULL, "out_of_sequence"));
    sensing_end(&s);
    sensing_init(&s, &sampler_infiniband, node_root("sensors"));
    sensing_set(&s, "word", "8");
    assert_int_equal(sensing_open(&s), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(sensing_u64(&s, "hfi1_0/1", "receive"), 3200);
    assert_int_equal(sensing_u64(&s, "hfi1_0/1", "transmit"), 4000);
    assert_int_equal(sensing_u64(&s, "mlx5_0/1", "receive_packets"), 10000000001); /* no data */
    sensing_end(&s);
}

static void saturated_32_bit_counters_are_unknown(void **state)
{
    (void)state;
    struct sensing s;
    assert_int_equal(sensing_begin(&s, &sampler_infiniband, node_root("sensors")), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_null(sensing_find(&s, "mlx4_0/2", NULL, "receive"));
    assert_null(sensing_find(&s, "mlx4_0/2", NULL, "receive_packets"));
    assert_int_equal(sensing_u64(&s, "mlx4_0/2", "transmit"), 20000000000ull); /* counters_ext has it */
    assert_int_equal(sensing_u64(&s, "mlx4_0/2", "transmit_packets"), 77);
    assert_near(sensing_f64(&s, "mlx4_0/2", "rate"), 312500000, 1);
    sensing_end(&s);
}

static void implausible_values_are_unknown(void **state)
{
    (void)state;
    struct sensing s;
    static const char *const unknown[] = { "receive", "transmit", "receive_packets", "transmit_packets",
                                           "multicast_receive_packets", "state", "physical_state", "rate",
                                           "link_downed" };
    assert_int_equal(sensing_begin(&s, &sampler_infiniband, node_root("sick")), OK);
    assert_int_equal(sensing_read(&s), OK);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_null(sensing_find(&s, "mlx5_0/1", NULL, unknown[i]));
    assert_int_equal(sensing_u64(&s, "mlx5_0/1", "symbol_errors"), 3);
    assert_null(sensing_sample(&s, "mlx5_1/1", NULL));
    sensing_end(&s);
}

static void without_hardware_it_is_absent(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX];
    assert_int_equal(sensing_begin(&s, &sampler_infiniband, "/nonexistent"), ABSENT);
    temp_dir(root);
    sensing_put(root, "sys/class/infiniband/mlx5_0/node_type", "1: CA\n"); /* a device without ports */
    assert_int_equal(sensing_begin(&s, &sampler_infiniband, root), ABSENT);
    temp_remove(root);
    if (access("/sys/class/infiniband", F_OK) != 0)
        assert_int_equal(sensing_begin(&s, &sampler_infiniband, ""), ABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_are_read_by_name),
        cmocka_unit_test(omni_path_has_fewer_counters),
        cmocka_unit_test(saturated_32_bit_counters_are_unknown),
        cmocka_unit_test(implausible_values_are_unknown),
        cmocka_unit_test(without_hardware_it_is_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
