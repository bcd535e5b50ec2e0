/* The hash table: SipHash against other implementations, and adding, finding and removing against a plain list. */
#include "base/map.h"

#include "tools/unit.h"

#define ITEMS 3000

struct item {
    uint64_t hash;
    char name[16];
    bool is_in;
};

static bool item_is(const void *item, const void *name)
{
    return strcmp(((const struct item *)item)->name, name) == 0;
}

static struct item *find(const struct map *map, const struct item *item)
{
    return map_find(map, item->hash, item_is, item->name);
}

/* Values: PYTHONHASHSEED=0 python3 -c 'print(hex(hash(bytes(range(7))) & 2**64 - 1))' of Python 3.11. */
static void the_hash_is_siphash_1_3(void **state)
{
    (void)state;
    const uint64_t key[2] = { 0, 0 };
    const struct {
        size_t size;
        uint64_t hash;
    } known[] = {
        { 1, 0x68a914128e01e473u },
        { 3, 0x4d4c9a4a8ef6e0adu },
        { 4, 0x7cc43f98813e4dbdu },
        { 7, 0x2f098ab0c751325au },
        { 8, 0xead411e67ebe2eeau },
        { 15, 0xf30eb725bb91c9eau },
        { 23, 0x37332b1389daa4ffu },
    };
    uint8_t data[23];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)i;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_true(map_hash_with_key(key, 0, data, known[i].size) == known[i].hash);
}

static void the_key_of_the_process_is_not_zero(void **state)
{
    (void)state;
    const uint64_t key[2] = { 0, 0 };
    assert_true(map_hash(0, "abc", 3) != map_hash_with_key(key, 0, "abc", 3));
    assert_true(map_hash(0, "abc", 3) == map_hash(0, "abc", 3));
}

static void the_parts_of_a_key_are_separate(void **state)
{
    (void)state;
    assert_true(map_hash_string(map_hash_string(0, "ab"), "c") != map_hash_string(map_hash_string(0, "a"), "bc"));
    assert_true(map_hash_string(map_hash_string(0, "a"), "") != map_hash_string(0, "a"));
    assert_true(map_hash_string(0, NULL) == map_hash_string(0, ""));
}

/* Numbers in a row, and multiples of the table's size, which would share a slot without a key. */
static void numbers_are_spread(void **state)
{
    (void)state;
    static const uint64_t steps[] = { 1, 1024, 1u << 16, UINT64_C(1) << 32, UINT64_C(0x100000001) };
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        unsigned used[1024] = { 0 }, most = 0;
        for (uint64_t i = 0; i < 1024; i++) {
            unsigned *slot = &used[map_hash_number(i * steps[s]) & 1023];
            most = ++*slot > most ? *slot : most;
        }
        assert_in_range(most, 1, 32);
    }
    assert_true(map_hash_number(7) == map_hash_number(7));
}

static void an_empty_map_finds_and_removes_nothing(void **state)
{
    (void)state;
    struct map map = { 0 };
    struct item item = { .name = "a" };
    struct map_iterator at = { 0 };
    assert_null(find(&map, &item));
    map_remove(&map, 0, &item);
    assert_null(map_next(&map, &at));
    map_reset(&map);
    map_clear(&map);
}

static struct item *new_items(uint64_t hash_mask)
{
    struct item *items = calloc(ITEMS, sizeof *items);
    for (size_t i = 0; i < ITEMS; i++) {
        snprintf(items[i].name, sizeof items[i].name, "item %zu", i);
        items[i].hash = map_hash_string(0, items[i].name) & hash_mask;
    }
    return items;
}

static void assert_content(const struct map *map, struct item *items)
{
    size_t in = 0, seen = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        assert_ptr_equal(find(map, &items[i]), items[i].is_in ? &items[i] : NULL);
        in += items[i].is_in;
    }
    assert_int_equal(map->count, in);
    for (struct map_iterator at = { 0 }; map_next(map, &at);)
        seen++;
    assert_int_equal(seen, in);
}

/* Few distinct hashes give long chains that run over the end of the table. */
static void random_changes_against_a_list(uint64_t hash_mask)
{
    struct map map = { 0 };
    struct item *items = new_items(hash_mask);
    srand(1);
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < 300; i++) {
            struct item *item = &items[(size_t)rand() % ITEMS];
            if (item->is_in)
                map_remove(&map, item->hash, item);
            else
                assert_int_equal(map_add(&map, item->hash, item, ITEMS), OK);
            item->is_in = !item->is_in;
        }
        assert_content(&map, items);
    }
    map_reset(&map);
    for (size_t i = 0; i < ITEMS; i++)
        items[i].is_in = false;
    assert_content(&map, items);
    map_clear(&map);
    free(items);
}

static void adding_and_removing_at_random(void **state)
{
    (void)state;
    random_changes_against_a_list(UINT64_MAX);
}

static void adding_and_removing_with_collisions(void **state)
{
    (void)state;
    random_changes_against_a_list(0xfc3f);
}

/* Each item is returned once, whether or not the one before was removed. */
static void removing_during_iteration(uint64_t hash_mask)
{
    struct map map = { 0 };
    struct item *items = new_items(hash_mask), *item;
    for (size_t i = 0; i < ITEMS; i++) {
        assert_int_equal(map_add(&map, items[i].hash, &items[i], ITEMS), OK);
        items[i].is_in = true;
    }
    for (int round = 0; map.count; round++) {
        size_t count = map.count, seen = 0;
        for (struct map_iterator at = { 0 }; (item = map_next(&map, &at)); seen++)
            if (round == 2 || rand() % 2) {
                assert_true(item->is_in);
                map_remove(&map, item->hash, item);
                item->is_in = false;
            }
        assert_int_equal(seen, count);
        assert_content(&map, items);
    }
    map_clear(&map);
    free(items);
}

static void the_current_item_can_be_removed(void **state)
{
    (void)state;
    removing_during_iteration(UINT64_MAX);
    removing_during_iteration(0xfc3f);
    removing_during_iteration(0x1ff7); /* chains around the end of the table */
}

static void the_maximum_is_exact(void **state)
{
    (void)state;
    struct map map = { 0 };
    struct item *items = new_items(UINT64_MAX);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(map_add(&map, items[i].hash, &items[i], 10), OK);
    assert_int_equal(map_add(&map, items[10].hash, &items[10], 10), FULL);
    assert_null(find(&map, &items[10]));
    assert_int_equal(map.count, 10);
    map_remove(&map, items[3].hash, &items[3]);
    assert_int_equal(map_add(&map, items[10].hash, &items[10], 10), OK);
    map_clear(&map);
    free(items);
}

static void after_reserve_nothing_moves(void **state)
{
    (void)state;
    struct map map = { 0 };
    struct item *items = new_items(UINT64_MAX);
    assert_int_equal(map_reserve(&map, ITEMS, ITEMS), OK);
    struct map_slot *slots = map.slots;
    for (size_t i = 0; i < ITEMS; i++)
        assert_int_equal(map_add(&map, items[i].hash, &items[i], ITEMS), OK);
    assert_ptr_equal(map.slots, slots);
    assert_int_equal(map_reserve(&map, ITEMS + 1, ITEMS), FULL);
    map_clear(&map);
    free(items);
}

static bool index_is(const void *item, const void *key)
{
    return map_index_of_item(item) == *(const size_t *)key;
}

static void indexes_can_be_items(void **state)
{
    (void)state;
    struct map map = { 0 };
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(map_add(&map, map_hash(0, &i, sizeof i), map_item_of_index(i), 100), OK);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(map_index_of_item(map_find(&map, map_hash(0, &i, sizeof i), index_is, &i)), i);
    map_clear(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_is_siphash_1_3),
        cmocka_unit_test(the_key_of_the_process_is_not_zero),
        cmocka_unit_test(the_parts_of_a_key_are_separate),
        cmocka_unit_test(numbers_are_spread),
        cmocka_unit_test(an_empty_map_finds_and_removes_nothing),
        cmocka_unit_test(adding_and_removing_at_random),
        cmocka_unit_test(adding_and_removing_with_collisions),
        cmocka_unit_test(the_current_item_can_be_removed),
        cmocka_unit_test(the_maximum_is_exact),
        cmocka_unit_test(after_reserve_nothing_moves),
        cmocka_unit_test(indexes_can_be_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
