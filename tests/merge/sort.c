/* Sorting by time, stable, for nearly sorted lists and for unsorted ones. */
#include "merge/sort.h"

#include "tools/unit.h"

struct item {
    uint64_t time_ns;
    char more[5];
};

static void check(const struct item *items, uint32_t count)
{
    uint32_t *order = calloc(2 * (size_t)count + 1, sizeof *order);
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    sort_by_time(items, sizeof *items, order, order + count, count);
    for (uint32_t i = 1; i < count; i++) {
        uint64_t before = items[order[i - 1]].time_ns, now = items[order[i]].time_ns;
        assert_true(before < now || (before == now && order[i - 1] < order[i]));
    }
    free(order);
}

static void all_sizes_and_orders(void **state)
{
    static struct item items[3000];
    uint64_t random = 88172645463325252ull;
    for (uint32_t count = 0; count < 3000; count += 1 + count / 7)
        for (int kind = 0; kind < 4; kind++) {
            for (uint32_t i = 0; i < count; i++) {
                random ^= random << 13, random ^= random >> 7, random ^= random << 17;
                items[i].time_ns = kind == 0 ? i : kind == 1 ? count - i : kind == 2 ? random % 50 : i + random % 4;
            }
            check(items, count);
        }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_sizes_and_orders) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
