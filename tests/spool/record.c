/* Every kind of record is encoded and decoded; older, newer and damaged bodies. */
#include "spool/record.h"

#include "tools/unit.h"

static uint8_t memory[4096];

/* Each field gets a different value, so that swapped fields are detected. */
static uint64_t next_number;

static uint64_t make_number(void) { return next_number++ * 1000; }

static struct bytes make_text(void)
{
    static char texts[64][24];
    char *text = texts[next_number % 64];
    snprintf(text, sizeof texts[0], "text %d", (int)next_number++);
    return bytes_of(text);
}

static struct counters make_counters(void)
{
    struct counters counters = { 0 };
    counters_set(&counters, COUNTER_usertime, next_number++);
    counters_set(&counters, COUNTER_rchar, next_number++);
    return counters;
}

static void same_number(uint64_t a, uint64_t b) { assert_int_equal(a, b); }

static void same_text(struct bytes a, struct bytes b) { assert_true(bytes_equal(a, b)); }

static void same_counters(struct counters a, struct counters b) { assert_memory_equal(&a, &b, sizeof a); }

#define MAKE(type, field) record.field = make_##type();
#define SAME(type, field) same_##type(record.field, back.field);
#define NOTHING(type, field) same_##type((record_type_##type){ 0 }, back.field);
#define COUNT(type, field) +1

/* The whole record; one with more behind it, as a newer writer leaves; every shorter one, as an older writer or damage
 * leaves, which may be refused but never believed beyond its end. */
#define X(number, name, fields) \
    static void name##_comes_back(void **state) \
    { \
        (void)state; \
        struct name##_record record = { 0 }, back; \
        fields(MAKE) \
        struct packer p = { memory, memory + sizeof memory, false }; \
        record_pack_##name(&p, &record); \
        assert_false(p.full); \
        struct bytes body = { (char *)memory, (size_t)(p.at - memory) }; \
        assert_int_equal(record_unpack_##name(body, &back), OK); \
        fields(SAME) \
        memset(p.at, 0xff, 40); \
        struct bytes longer = { body.data, body.size + 40 }; \
        assert_int_equal(record_unpack_##name(longer, &back), OK); \
        fields(SAME) \
        size_t whole_fields = 0; \
        for (size_t size = 0; size < body.size; size++) \
            whole_fields += record_unpack_##name((struct bytes){ body.data, size }, &back) == OK; \
        assert_int_equal(whole_fields, 0 fields(COUNT)); \
        assert_int_equal(record_unpack_##name((struct bytes){ body.data, 0 }, &back), OK); \
        fields(NOTHING) \
    }
RECORD_KINDS(X)
#undef X

static void a_record_of_an_older_version_is_read(void **state)
{
    (void)state;
    struct packer p = { memory, memory + sizeof memory, false };
    pack_number(&p, 4711); /* pid, time_ns and copied of an exec record, and no more */
    pack_number(&p, 99);
    pack_number(&p, 1);
    struct exec_record back;
    assert_int_equal(record_unpack_exec((struct bytes){ (char *)memory, (size_t)(p.at - memory) }, &back), OK);
    assert_int_equal(back.pid, 4711);
    assert_int_equal(back.copied, 1);
    assert_int_equal(back.path.size, 0);
    assert_int_equal(back.self.known, 0);
}

static void kinds_keep_their_numbers(void **state)
{
    (void)state;
    assert_int_equal(RECORD_KIND_run, 1);
    assert_int_equal(RECORD_KIND_image, 2);
    assert_int_equal(RECORD_KIND_end, 8);
    assert_int_equal(RECORD_KIND_taskstats, 13);
    assert_int_equal(RECORD_KIND_run_end, 18);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define X(number, name, fields) cmocka_unit_test(name##_comes_back),
        RECORD_KINDS(X)
#undef X
        cmocka_unit_test(a_record_of_an_older_version_is_read),
        cmocka_unit_test(kinds_keep_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
