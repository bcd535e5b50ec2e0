/* The tree of processes: read, folded, sorted, walked. */
#include "report/tree.h"

#include "tools/unit.h"

/* Rows of a job, added in pre-order. */
struct maker {
    struct tree tree;
    struct process processes[20000];
    uint32_t count;
};

static struct maker *maker;

static int make(void **state)
{
    (void)state;
    maker = calloc(1, sizeof *maker);
    tree_init(&maker->tree, 100);
    return maker ? 0 : -1;
}

static int unmake(void **state)
{
    (void)state;
    tree_clear(&maker->tree);
    free(maker);
    return 0;
}

/* Returns its number. finish computes last and the inclusive time. */
static uint32_t add(uint32_t parent, const char *name, uint64_t cpu_us)
{
    struct process *p = &maker->processes[maker->count];
    *p = (struct process){ .pid = 100 + maker->count, .parent = parent, .last = maker->count, .name = bytes_of(name),
                           .start_ns = 1000 + maker->count, .end_ns = 2000 + maker->count, .thread_count = 1,
                           .status_known = true };
    counters_set(&p->counters, COUNTER_usertime, cpu_us);
    counters_set(&p->counters, COUNTER_rssmax, 10 + maker->count);
    counters_set(&p->counters, COUNTER_rchar, 5);
    return maker->count++;
}

static void finish(void)
{
    for (uint32_t i = maker->count; i-- > 0;) {
        struct process *p = &maker->processes[i];
        p->inclusive_cpu_us += counters_cpu_us(&p->counters);
        if (p->parent == PROCESS_NO_PARENT)
            continue;
        struct process *parent = &maker->processes[p->parent];
        parent->inclusive_cpu_us += p->inclusive_cpu_us;
        if (p->last > parent->last)
            parent->last = p->last;
    }
    for (uint32_t i = 0; i < maker->count; i++)
        assert_int_equal(tree_add(&maker->tree, i, &maker->processes[i]), OK);
}

/* "make(sh*3(gcc*3) ld)" */
static const char *drawn(void)
{
    static char text[4096];
    const struct tree *tree = &maker->tree;
    uint32_t depth = 0;
    bool first = true;
    text[0] = '\0';
    for (uint32_t n = tree_first(tree); n != TREE_NONE; n = tree_next(tree, n, true)) {
        const struct tree_node *node = &tree->nodes[n];
        if (!first && node->depth > depth)
            strcat(text, "(");
        for (; node->depth < depth; depth--)
            strcat(text, ")");
        if (!first && text[strlen(text) - 1] != '(')
            strcat(text, " ");
        depth = node->depth;
        first = false;
        struct bytes name = tree_name(tree, node);
        snprintf(text + strlen(text), 64, "%.*s", (int)name.size, name.data);
        if (node->count > 1)
            snprintf(text + strlen(text), 32, "*%u", node->count);
    }
    for (; depth > 0; depth--)
        strcat(text, ")");
    return text;
}

static void order_is_kept(void **state)
{
    (void)state;
    uint32_t make_ = add(PROCESS_NO_PARENT, "make", 10);
    uint32_t sh = add(make_, "sh", 10);
    add(sh, "gcc", 10);
    add(make_, "ld", 10);
    add(PROCESS_NO_PARENT, "daemon", 1);
    finish();
    assert_string_equal(drawn(), "make(sh(gcc) ld) daemon");
    assert_int_equal(maker->tree.nodes[0].below, 3);
    assert_int_equal(maker->tree.nodes[0].inclusive_us, 40);
    assert_int_equal(maker->tree.nodes[2].depth, 2);
}

static void small_similar_siblings_are_folded(void **state)
{
    (void)state;
    uint32_t sh = add(PROCESS_NO_PARENT, "sh", 1000);
    for (int i = 0; i < 1998; i++)
        add(sh, "true", 1);
    add(sh, "sort", 5);
    finish();
    assert_int_equal(tree_fold(&maker->tree), OK);
    assert_string_equal(drawn(), "sh(true*1998 sort)");
    const struct tree_node *folded = &maker->tree.nodes[1];
    assert_int_equal(folded->cpu_us, 1998);
    assert_int_equal(folded->inclusive_us, 1998);
    assert_int_equal(folded->time_ns, 1998 * 1000);
    assert_int_equal(folded->read_bytes, 1998 * 5);
    assert_int_equal(folded->rss_kb, 10 + 1998); /* of the largest */
}

static void few_are_not_folded(void **state)
{
    (void)state;
    uint32_t sh = add(PROCESS_NO_PARENT, "sh", 1000);
    for (int i = 0; i < TREE_FOLD_MIN - 1; i++)
        add(sh, "true", 1);
    finish();
    tree_fold(&maker->tree);
    assert_string_equal(drawn(), "sh(true true true true)");
}

static void large_ones_are_not_folded(void **state)
{
    (void)state;
    uint32_t sh = add(PROCESS_NO_PARENT, "sh", 1);
    for (int i = 0; i < 6; i++)
        add(sh, "solve", i == 2 ? 1000000 : 1);
    finish();
    tree_fold(&maker->tree);
    assert_string_equal(drawn(), "sh(solve*5 solve)");
    assert_int_equal(maker->tree.nodes[1].count, 5);
}

static void failed_ones_are_separate(void **state)
{
    (void)state;
    uint32_t sh = add(PROCESS_NO_PARENT, "sh", 1000);
    for (int i = 0; i < 12; i++) {
        uint32_t n = add(sh, "test", 1);
        maker->processes[n].exit_code = i % 2;
    }
    finish();
    tree_fold(&maker->tree);
    assert_string_equal(drawn(), "sh(test*6 test*6)");
    assert_int_equal(maker->tree.nodes[2].exit_code, 1);
}

static void subtrees_are_folded(void **state)
{
    (void)state;
    uint32_t top = add(PROCESS_NO_PARENT, "make", 1000);
    for (int i = 0; i < 10; i++) {
        uint32_t sh = add(top, "sh", 1), gcc = add(sh, "gcc", 1);
        add(gcc, "cc1", 3);
        add(gcc, "as", 1);
        for (int k = 0; k < i % 3; k++) /* the number does not matter */
            add(gcc, "as", 1);
    }
    add(top, "sh", 1); /* of another kind: without children */
    finish();
    tree_fold(&maker->tree);
    assert_string_equal(drawn(), "make(sh*10(gcc*10(cc1*10 as*19)) sh)");
    assert_int_equal(maker->tree.nodes[1].below, 10 + 10 + 19);
    assert_int_equal(maker->tree.nodes[1].inclusive_us, 10 + 10 + 30 + 19);
}

static void sorts_siblings(void **state)
{
    (void)state;
    uint32_t sh = add(PROCESS_NO_PARENT, "sh", 1);
    add(sh, "small", 5);
    uint32_t middle = add(sh, "middle", 50);
    add(middle, "x", 1);
    add(middle, "y", 2);
    add(sh, "large", 500);
    finish();
    assert_int_equal(tree_sort(&maker->tree, TREE_BY_CPU), OK);
    assert_string_equal(drawn(), "sh(large middle(y x) small)");
    assert_int_equal(tree_sort(&maker->tree, TREE_BY_START), OK);
    assert_string_equal(drawn(), "sh(small middle(x y) large)");
}

static void hides_below_threshold(void **state)
{
    (void)state;
    uint32_t sh = add(PROCESS_NO_PARENT, "sh", 1);
    uint32_t small = add(sh, "small", 5);
    add(small, "smaller", 1);
    uint32_t large = add(sh, "large", 500);
    add(large, "part", 400);
    add(large, "rest", 2);
    add(sh, "small", 5);
    add(PROCESS_NO_PARENT, "idle", 0);
    finish();
    tree_hide(&maker->tree, 10);
    assert_string_equal(drawn(), "sh(large(part))");
    assert_int_equal(maker->tree.hidden, 5);
    assert_int_equal(maker->tree.hidden_us, 5 + 1 + 2 + 5);
    tree_hide(&maker->tree, 100000);
    assert_int_equal(tree_first(&maker->tree), TREE_NONE);
}

static void deep_chains_work(void **state)
{
    (void)state;
    uint32_t parent = PROCESS_NO_PARENT, seen = 0;
    for (int i = 0; i < 20000; i++)
        parent = add(parent, "sh", 1);
    finish();
    assert_int_equal(tree_fold(&maker->tree), OK);
    assert_int_equal(tree_sort(&maker->tree, TREE_BY_CPU), OK);
    for (uint32_t n = tree_first(&maker->tree); n != TREE_NONE; n = tree_next(&maker->tree, n, true))
        seen++;
    assert_int_equal(seen, 20000);
}

static void threads_belong_to_their_process(void **state)
{
    (void)state;
    uint32_t sh = add(PROCESS_NO_PARENT, "sh", 1);
    add(sh, "solve", 1);
    finish();
    struct thread thread = { .tid = 7 };
    assert_int_equal(tree_add_thread(&maker->tree, 1, &thread), OK);
    thread.tid = 8;
    assert_int_equal(tree_add_thread(&maker->tree, 1, &thread), OK);
    assert_int_equal(tree_add_thread(&maker->tree, 99, &thread), OK); /* of an unknown process: ignored */
    assert_int_equal(maker->tree.nodes[1].thread_count, 2);
    assert_int_equal(maker->tree.threads[maker->tree.nodes[1].thread_first + 1].thread.tid, 8);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(order_is_kept),
        TEST(small_similar_siblings_are_folded),
        TEST(few_are_not_folded),
        TEST(large_ones_are_not_folded),
        TEST(failed_ones_are_separate),
        TEST(subtrees_are_folded),
        TEST(sorts_siblings),
        TEST(hides_below_threshold),
        TEST(deep_chains_work),
        TEST(threads_belong_to_their_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
