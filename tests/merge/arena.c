/* Arena allocation and interned strings. */
#include "merge/arena.h"

#include "base/clock.h"
#include "tools/unit.h"

static void allocations_are_zeroed_and_disjoint(void **state)
{
    struct arena arena;
    uint8_t *pieces[300];
    arena_init(&arena);
    for (size_t i = 0; i < 300; i++) {
        size_t size = i % 3 ? 40 * i : 70000; /* small ones between large ones */
        pieces[i] = arena_alloc(&arena, size + 1, 1);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        for (size_t at = 0; at <= size; at += 97)
            assert_int_equal(pieces[i][at], 0);
        memset(pieces[i], (int)i, size + 1);
    }
    for (size_t i = 0; i < 300; i++)
        assert_int_equal(pieces[i][0], (uint8_t)i);
    assert_null(arena_alloc(&arena, SIZE_MAX / 2, 3));
    arena_clear(&arena);
    (void)state;
}

static void equal_strings_share_one_copy(void **state)
{
    struct arena arena;
    struct arena_strings strings;
    const char *copies[500];
    char text[32];
    arena_init(&arena);
    arena_strings_init(&strings, &arena);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 500; i++) {
            snprintf(text, sizeof text, "text number %d", i);
            struct bytes kept = arena_strings_intern(&strings, bytes_of(text));
            assert_string_equal(kept.data, text);
            assert_int_equal(kept.size, strlen(text));
            if (round)
                assert_ptr_equal(kept.data, copies[i]);
            copies[i] = kept.data;
        }
    assert_int_equal(arena_strings_intern(&strings, (struct bytes){ "a\0b", 3 }).size, 3);
    assert_ptr_not_equal(arena_strings_intern(&strings, (struct bytes){ "a\0b", 3 }).data,
                         arena_strings_intern(&strings, bytes_of("a")).data);
    assert_int_equal(arena_strings_intern(&strings, (struct bytes){ 0 }).size, 0);
    arena_strings_clear(&strings);
    arena_clear(&arena);
    (void)state;
}

static uint64_t time_to_intern(const char *names, size_t size, size_t count)
{
    struct arena arena;
    struct arena_strings strings;
    arena_init(&arena);
    arena_strings_init(&strings, &arena);
    uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (size_t i = 0; i < count; i++)
        arena_strings_intern(&strings, (struct bytes){ names + i * size, size });
    uint64_t taken_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
    assert_int_equal(strings.used, count);
    arena_strings_clear(&strings);
    arena_clear(&arena);
    return taken_ns;
}

/* Names that collided in the hash without a key: a changed top bit of one word is undone by two bits of the next, whatever
 * comes before and after. 8,192 of them took 50 times as long as others. */
static void chosen_names_do_not_collide(void **state)
{
    (void)state;
    enum { PAIRS = 13, COUNT = 1 << PAIRS, SIZE = PAIRS * 16 };
    char *names = calloc(COUNT, SIZE), *others = calloc(COUNT, SIZE);
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t pair = 0; pair < PAIRS; pair++)
            if (i >> pair & 1) {
                uint64_t words[2] = { 1ull << 63, 1ull << 63 | 1ull << 31 };
                memcpy(names + i * SIZE + pair * 16, words, sizeof words);
            }
        memcpy(others + i * SIZE, &i, sizeof i);
    }
    uint64_t others_ns = time_to_intern(others, SIZE, COUNT);
    assert_true(time_to_intern(names, SIZE, COUNT) < 10 * others_ns + 1000000);
    free(names);
    free(others);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(allocations_are_zeroed_and_disjoint),
                                        cmocka_unit_test(chosen_names_do_not_collide),
        cmocka_unit_test(equal_strings_share_one_copy) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
