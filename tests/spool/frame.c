/* Complete, torn and damaged frames, and finding the next valid one. */
#include "spool/frame.h"

#include "tools/unit.h"

static uint8_t memory[1 << 16];

/* Writes a frame with size bytes of the letter; returns its size. */
static size_t put(uint8_t *place, size_t size, char letter)
{
    memset(place + FRAME_HEAD, letter, size);
    return frame_finish(place, RECORD_KIND_fork, size);
}

static enum err read_at(size_t from, size_t to, struct bytes *body, size_t *size)
{
    enum record_kind kind;
    return frame_read((struct bytes){ (char *)memory + from, to - from }, &kind, body, size);
}

static void a_frame_is_read_with_its_kind(void **state)
{
    (void)state;
    enum record_kind kind;
    struct bytes body;
    size_t size;
    for (size_t n = 0; n < 40; n++) {
        size_t whole = put(memory, n, 'x');
        assert_int_equal(whole % 8, 0);
        assert_int_equal(frame_read((struct bytes){ (char *)memory, whole }, &kind, &body, &size), OK);
        assert_int_equal(kind, RECORD_KIND_fork);
        assert_int_equal(body.size, n);
        assert_int_equal(size, whole);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(body.data[i], 'x');
    }
}

static void an_incomplete_frame_is_reported(void **state)
{
    (void)state;
    struct bytes body;
    size_t size, whole = put(memory, 100, 'x');
    for (size_t n = 0; n < whole; n++)
        assert_int_equal(read_at(0, n, &body, &size), AGAIN);
}

static void every_flipped_bit_is_detected(void **state)
{
    (void)state;
    struct bytes body;
    size_t size, whole = put(memory, 43, 'x');
    for (size_t bit = 0; bit < whole * 8; bit++) {
        if (bit / 8 >= 13 && bit / 8 < 16)
            continue; /* the three spare bytes of the head */
        memory[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_not_equal(read_at(0, whole, &body, &size), OK);
        memory[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_int_equal(read_at(0, whole, &body, &size), OK);
}

static void the_frame_after_a_torn_one_is_found(void **state)
{
    (void)state;
    struct bytes body;
    size_t whole = put(memory, 100, 'x');
    for (size_t torn = 1; torn < whole; torn++) { /* any number of its bytes, not only multiples of 8 */
        put(memory, 100, 'x');
        size_t second = put(memory + torn, 20, 'y'), skip = 0;
        assert_int_equal(read_at(0, torn + second, &body, &skip), CORRUPT);
        assert_int_equal(skip, torn);
        assert_int_equal(read_at(skip, torn + second, &body, &skip), OK);
        assert_int_equal(body.data[0], 'y');
    }
}

static void an_excessive_size_is_rejected(void **state)
{
    (void)state;
    struct bytes body;
    size_t size = 0, whole = put(memory, 8, 'x');
    const uint32_t huge = FRAME_BODY_MAX + 1;
    memcpy(memory + 4, &huge, sizeof huge);
    assert_int_equal(read_at(0, whole, &body, &size), CORRUPT);
    assert_true(size > 0 && size <= whole);
}

static void noise_is_skipped_to_the_next_magic_number(void **state)
{
    (void)state;
    struct bytes body;
    size_t size = 0;
    memset(memory, 'z', 1000);
    assert_int_equal(read_at(0, 1000, &body, &size), CORRUPT);
    assert_int_equal(size, 997);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_read_with_its_kind),
        cmocka_unit_test(an_incomplete_frame_is_reported),
        cmocka_unit_test(every_flipped_bit_is_detected),
        cmocka_unit_test(the_frame_after_a_torn_one_is_found),
        cmocka_unit_test(an_excessive_size_is_rejected),
        cmocka_unit_test(noise_is_skipped_to_the_next_magic_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
