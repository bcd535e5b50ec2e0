/* Names in BTF files: a hand-made one and that of the running kernel. */
#include "syscalls/kernel_btf.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <linux/btf.h>
#include <unistd.h>

static const char texts[] = "\0number_one\0one\0one_more\0last";

static char directory[TEMP_PATH_MAX];

static int setup(void **state)
{
    (void)state;
    temp_dir(directory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    temp_remove(directory);
    return 0;
}

/* A header, eight bytes of types, and the strings. */
static void write_types(uint16_t magic, uint32_t texts_size)
{
    struct {
        struct btf_header header;
        char types[8], texts[sizeof texts];
    } file = { { .magic = magic, .version = 1, .hdr_len = sizeof file.header, .type_len = sizeof file.types,
                 .str_off = sizeof file.types, .str_len = texts_size }, "one_too", "" };
    char path[TEMP_PATH_MAX];
    memcpy(file.texts, texts, sizeof texts);
    temp_join(path, directory, KERNEL_BTF + 1);
    temp_write(path, &file, sizeof file.header + sizeof file.types + sizeof texts); /* without trailing padding */
}

static bool has(const char *name)
{
    struct kernel_btf types;
    assert_int_equal(kernel_btf_open(&types, directory), OK);
    bool found = kernel_btf_has(&types, name);
    kernel_btf_close(&types);
    kernel_btf_close(&types);
    return found;
}

static void whole_names_are_found(void **state)
{
    (void)state;
    write_types(BTF_MAGIC, sizeof texts);
    assert_true(has("number_one"));
    assert_true(has("one"));
    assert_true(has("one_more"));
    assert_true(has("last"));
    assert_false(has("number"));
    assert_false(has("more"));
    assert_false(has("one_mor"));
    assert_false(has("one_too")); /* without a NUL */
}

static void a_malformed_file_has_no_names(void **state)
{
    struct kernel_btf types;
    (void)state;
    assert_int_equal(kernel_btf_open(&types, directory), ABSENT);
    assert_false(kernel_btf_has(&types, "one"));
    write_types(0x1234, sizeof texts);
    assert_false(has("one"));
    write_types(BTF_MAGIC, sizeof texts + 1);
    assert_false(has("one"));
    write_types(BTF_MAGIC, 0);
    assert_false(has("one"));
}

static void the_running_kernel_is_read(void **state)
{
    struct kernel_btf types;
    (void)state;
    if (access(KERNEL_BTF, R_OK) != 0)
        leave_out("this kernel has no types");
    assert_int_equal(kernel_btf_open(&types, ""), OK);
    assert_true(kernel_btf_has(&types, "task_struct"));
    assert_true(kernel_btf_has(&types, "btf_trace_sys_exit"));
    assert_false(kernel_btf_has(&types, "btf_trace_sys_exi"));
    assert_false(kernel_btf_has(&types, "nothing_of_this_name"));
    kernel_btf_close(&types);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whole_names_are_found, setup, teardown),
        cmocka_unit_test_setup_teardown(a_malformed_file_has_no_names, setup, teardown),
        cmocka_unit_test(the_running_kernel_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
