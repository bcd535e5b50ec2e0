/* Encoding of numbers, strings and counters, and invalid input. */
#include "model/pack.h"

#include "tools/unit.h"

static struct packer packer_of(uint8_t *memory, size_t size)
{
    return (struct packer){ memory, memory + size, false };
}

static struct unpacker unpacker_of(const uint8_t *memory, size_t size)
{
    return (struct unpacker){ memory, memory + size, false };
}

static void numbers_are_decoded(void **state)
{
    (void)state;
    static const uint64_t numbers[] = { 0, 1, 127, 128, 300, 16383, 16384, UINT32_MAX, 1ull << 63, UINT64_MAX };
    uint8_t memory[128];
    struct packer p = packer_of(memory, sizeof memory);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        pack_number(&p, numbers[i]);
    assert_false(p.full);
    struct unpacker u = unpacker_of(memory, (size_t)(p.at - memory));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_true(unpack_number(&u) == numbers[i]);
    assert_false(u.bad);
    assert_ptr_equal(u.at, u.end);
}

static void small_numbers_take_one_byte(void **state)
{
    (void)state;
    uint8_t memory[16];
    struct packer p = packer_of(memory, sizeof memory);
    pack_number(&p, 127);
    assert_int_equal(p.at - memory, 1);
}

static void strings_of_any_bytes_are_decoded(void **state)
{
    (void)state;
    uint8_t memory[64];
    struct packer p = packer_of(memory, sizeof memory);
    pack_text(&p, (struct bytes){ "a\0\xff\n", 4 });
    pack_text(&p, (struct bytes){ NULL, 0 });
    struct unpacker u = unpacker_of(memory, (size_t)(p.at - memory));
    assert_bytes(unpack_text(&u), "a\0\xff\n");
    assert_int_equal(unpack_text(&u).size, 0);
    assert_false(u.bad);
}

static void a_full_packer_does_not_overflow(void **state)
{
    (void)state;
    uint8_t memory[40];
    memset(memory, 0xee, sizeof memory);
    struct packer p = packer_of(memory, 20);
    pack_text(&p, bytes_of("0123456789"));
    assert_false(p.full);
    pack_text(&p, bytes_of("0123456789"));
    assert_true(p.full);
    for (size_t i = 20; i < sizeof memory; i++)
        assert_int_equal(memory[i], 0xee);
}

static void a_truncated_number_is_bad(void **state)
{
    (void)state;
    static const uint8_t cut[] = { 0x80, 0x80 };
    struct unpacker u = unpacker_of(cut, sizeof cut);
    assert_int_equal(unpack_number(&u), 0);
    assert_true(u.bad);
}

static void a_number_without_end_is_bad(void **state)
{
    (void)state;
    uint8_t endless[32];
    memset(endless, 0xff, sizeof endless);
    struct unpacker u = unpacker_of(endless, sizeof endless);
    assert_int_equal(unpack_number(&u), 0);
    assert_true(u.bad);
}

static void a_truncated_string_is_bad(void **state)
{
    (void)state;
    static const uint8_t lies[] = { 5, 'a', 'b' };
    struct unpacker u = unpacker_of(lies, sizeof lies);
    assert_int_equal(unpack_text(&u).size, 0);
    assert_true(u.bad);
}

static void only_known_counters_are_encoded(void **state)
{
    (void)state;
    uint8_t memory[512];
    struct counters counters = { 0 };
    counters_set(&counters, COUNTER_usertime, 1234567);
    counters_set(&counters, COUNTER_timeslices, 0);
    struct packer p = packer_of(memory, sizeof memory);
    pack_counters(&p, counters);
    assert_true(p.at - memory < 12);
    struct unpacker u = unpacker_of(memory, (size_t)(p.at - memory));
    struct counters back = unpack_counters(&u);
    assert_false(u.bad);
    assert_memory_equal(&back, &counters, sizeof back);
}

static void counters_of_a_newer_writer_are_skipped(void **state)
{
    (void)state;
    uint8_t memory[128];
    struct packer p = packer_of(memory, sizeof memory);
    pack_number(&p, 1ull << COUNTER_minflt | 1ull << COUNTERS_SIZE | 1ull << 63);
    pack_number(&p, 11);
    pack_number(&p, 22);
    pack_number(&p, 33);
    pack_number(&p, 44); /* what follows the counters */
    struct unpacker u = unpacker_of(memory, (size_t)(p.at - memory));
    struct counters back = unpack_counters(&u);
    assert_int_equal(back.known, 1ull << COUNTER_minflt);
    assert_int_equal(counters_get(&back, COUNTER_minflt), 11);
    assert_int_equal(unpack_number(&u), 44);
    assert_false(u.bad);
}

static void truncated_counters_are_bad(void **state)
{
    (void)state;
    static const uint8_t cut[] = { 3, 1 };
    struct unpacker u = unpacker_of(cut, sizeof cut);
    unpack_counters(&u);
    assert_true(u.bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_decoded),
        cmocka_unit_test(small_numbers_take_one_byte),
        cmocka_unit_test(strings_of_any_bytes_are_decoded),
        cmocka_unit_test(a_full_packer_does_not_overflow),
        cmocka_unit_test(a_truncated_number_is_bad),
        cmocka_unit_test(a_number_without_end_is_bad),
        cmocka_unit_test(a_truncated_string_is_bad),
        cmocka_unit_test(only_known_counters_are_encoded),
        cmocka_unit_test(counters_of_a_newer_writer_are_skipped),
        cmocka_unit_test(truncated_counters_are_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
