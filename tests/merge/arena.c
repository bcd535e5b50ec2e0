/* Memory by pieces, and one copy of each text. */
#include "merge/arena.h"

#include "tools/unit.h"

static void pieces_are_zero_and_apart(void **state)
{
    struct arena arena;
    uint8_t *pieces[300];
    arena_init(&arena);
    for (size_t i = 0; i < 300; i++) {
        size_t size = i % 3 ? 40 * i : 70000; /* small ones among large ones */
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

static void one_copy_of_each_text(void **state)
{
    struct arena arena;
    struct texts texts;
    const char *copies[500];
    char text[32];
    arena_init(&arena);
    texts_init(&texts, &arena);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 500; i++) {
            snprintf(text, sizeof text, "text number %d", i);
            struct bytes kept = texts_keep(&texts, bytes_of(text));
            assert_string_equal(kept.data, text);
            assert_int_equal(kept.size, strlen(text));
            if (round)
                assert_ptr_equal(kept.data, copies[i]);
            copies[i] = kept.data;
        }
    assert_int_equal(texts_keep(&texts, (struct bytes){ "a\0b", 3 }).size, 3);
    assert_ptr_not_equal(texts_keep(&texts, (struct bytes){ "a\0b", 3 }).data, texts_keep(&texts, bytes_of("a")).data);
    assert_int_equal(texts_keep(&texts, (struct bytes){ 0 }).size, 0);
    texts_clear(&texts);
    arena_clear(&arena);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(pieces_are_zero_and_apart), cmocka_unit_test(one_copy_of_each_text) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
