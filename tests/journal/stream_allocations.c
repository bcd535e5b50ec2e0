/* In the steady state neither encoder nor decoder allocates. Replaces malloc by one that counts. */
#include "journal/stream_pair.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_OWN_MALLOC 0
#else
#define HAS_OWN_MALLOC 1
#endif

static size_t calls;

#if HAS_OWN_MALLOC
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

void *malloc(size_t size)
{
    calls++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    calls++;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    calls++;
    return __libc_realloc(memory, size);
}
#endif

static const struct metric metrics[] = {
    { "a", "1", COUNTER, U64, "", NULL }, { "b", "1", GAUGE, U64, "", NULL }, { "c", "1", GAUGE, F64, "", NULL },
};
static const struct set set = { "set", metrics, 3, "cpu" };

static void make(struct batch *batch, uint64_t tick)
{
    static const char *const instances[] = { "cpu0", "cpu1", "cpu2", "cpu3" };
    batch_reset(batch);
    for (size_t i = 0; i < 4; i++) {
        struct sample *sample = batch_add(batch, &set, 1794796508000319262ull + tick * 1000000000, instances[i]);
        sample_set_u64(sample, 0, tick * 1000);
        if (tick % 2)
            sample_set_u64(sample, 1, tick * 1000);
        sample_set_f64(sample, 2, (double)tick / 4);
    }
}

static void encoding_and_decoding_do_not_allocate(void **state)
{
    (void)state;
    if (!HAS_OWN_MALLOC)
        leave_out("the sanitizer has the only malloc");
    struct pair pair;
    struct batch batch;
    pair_open(&pair);
    batch_init(&batch);
    void *volatile memory = malloc(1); /* check the counter itself */
    free(memory);
    assert_true(calls > 0);
    size_t before = 0;
    for (uint64_t tick = 1; tick < 1000; tick++) {
        make(&batch, tick);
        buf_reset(&pair.record);
        assert_int_equal(stream_encode(pair.encoder, &batch, &pair.record), OK);
        assert_int_equal(stream_decode(pair.decoder, bytes_in(&pair.record), &pair.out), OK);
        if (tick == 20)
            before = calls;
    }
    assert_int_equal(calls, before);
    batch_clear(&batch);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(encoding_and_decoding_do_not_allocate) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
