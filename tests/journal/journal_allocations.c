/* In the steady state appending does not allocate, not even for a new segment. Replaces malloc by one that counts. */
#include "journal/journal.h"

#include "tools/journal_fixture.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_OWN_MALLOC 0
#else
#define HAS_OWN_MALLOC 1
#endif

static unsigned long allocations;

#if HAS_OWN_MALLOC
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    allocations++;
    return __libc_realloc(memory, size);
}
#endif

static void appending_does_not_allocate(void **state)
{
    (void)state;
    if (!HAS_OWN_MALLOC)
        leave_out("the sanitizer has the only malloc");
    settings.segment_bytes = 20000;
    open_journal();
    struct journal_reader *reader = open_reader("sink");
    append_many("a", 1, 10);
    read_records(reader, 1, 1, 10, true);
    unsigned long before = allocations;
    append_many("a", 1, 100);
    read_records(reader, 1, 11, 110, true);
    assert_int_equal(allocations, before);
    uint64_t segments = figures().segments;
    while (figures().segments == segments)
        append_many("a", 1, 1);
    assert_int_equal(allocations, before);
    void *volatile memory = malloc(1);
    free(memory);
    assert_int_not_equal(allocations, before); /* check the counter itself */
    journal_reader_close(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(appending_does_not_allocate, journal_setup, journal_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
