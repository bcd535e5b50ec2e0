/* The path of an image: the same as /proc/self/exe, whatever name was executed. */
#include "tools/unit.h"
#include "tools/probed.h"

#include <link.h>
#include <linux/limits.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

static struct probed probed;
static char tool[PATH_MAX], here[PATH_MAX];

static int open_probed(void **state)
{
    (void)state;
    char path[TEMP_PATH_MAX];
    probed_open(&probed);
    temp_join(path, getenv("TOOLS"), "acts");
    assert_non_null(realpath(path, tool));
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(probed.dir), 0);
    return 0;
}

static int close_probed(void **state)
{
    (void)state;
    assert_int_equal(chdir(here), 0);
    probed_close(&probed);
    return 0;
}

/* Asserts the path of the only image when `name` is executed. */
static void assert_path(char *name, const char *expected)
{
    struct image_record image;
    probed_program(&probed, (char *[]){ name, "nothing", NULL });
    assert_int_equal(probed.status, 0);
    size_t last = probed_count(&probed, RECORD_KIND_image) - 1;
    assert_true(probed_image(&probed, last, &image));
    assert_int_equal(image.path.size, strlen(expected));
    assert_memory_equal(image.path.data, expected, image.path.size);
}

static void a_link_to_the_file(void **state)
{
    (void)state;
    char path[TEMP_PATH_MAX];
    assert_int_equal(symlink(tool, "direct"), 0);
    assert_int_equal(symlink("direct", "twice"), 0);
    temp_join(path, probed.dir, "direct");
    assert_path(path, tool);
    temp_join(path, probed.dir, "twice");
    assert_path(path, tool);
}

static void a_link_to_a_directory(void **state)
{
    (void)state;
    char dir[PATH_MAX], path[TEMP_PATH_MAX];
    strcpy(dir, tool);
    strrchr(dir, '/')[0] = '\0';
    assert_int_equal(symlink(dir, "folder"), 0);
    temp_join(path, probed.dir, "folder/acts");
    assert_path(path, tool);
}

static void a_link_that_goes_up(void **state)
{
    (void)state;
    char path[TEMP_PATH_MAX];
    assert_int_equal(mkdir("inner", 0700), 0);
    assert_int_equal(symlink(tool, "direct"), 0);
    assert_int_equal(symlink("../direct", "inner/up"), 0);
    temp_join(path, probed.dir, "inner/up");
    assert_path(path, tool);
    temp_join(path, probed.dir, "inner/../direct");
    assert_path(path, tool);
    temp_join(path, probed.dir, "inner/.././/direct");
    assert_path(path, tool);
}

/* More links than are resolved without /proc. */
static void a_chain_of_links(void **state)
{
    (void)state;
    char from[16], to[16], path[TEMP_PATH_MAX];
    assert_int_equal(symlink(tool, "link0"), 0);
    for (int i = 1; i < 20; i++) {
        snprintf(from, sizeof from, "link%d", i);
        snprintf(to, sizeof to, "link%d", i - 1);
        assert_int_equal(symlink(to, from), 0);
    }
    temp_join(path, probed.dir, "link19");
    assert_path(path, tool);
}

static void copy_tool(const char *name)
{
    char command[2 * PATH_MAX];
    snprintf(command, sizeof command, "cp '%s' '%s'", tool, name);
    assert_int_equal(system(command), 0);
}

static void a_relative_name(void **state)
{
    (void)state;
    char real[PATH_MAX];
    copy_tool("copy");
    assert_int_equal(mkdir("inner", 0700), 0);
    assert_non_null(realpath("copy", real));
    assert_path("./copy", real);
    assert_path("././/copy", real);
    assert_path("inner/../copy", real);
}

static void a_linked_directory_in_a_relative_name(void **state)
{
    (void)state;
    char real[PATH_MAX];
    assert_int_equal(mkdir("inner", 0700), 0);
    copy_tool("inner/copy");
    assert_int_equal(symlink("inner", "outer"), 0);
    assert_non_null(realpath("inner/copy", real));
    assert_path("outer/copy", real);
}

static void write_script(const char *name, const char *text)
{
    temp_write(name, text, strlen(text));
    assert_int_equal(chmod(name, 0700), 0);
}

/* The interpreter, not the script; also if the interpreter is a script. */
static void a_script(void **state)
{
    (void)state;
    char text[PATH_MAX + 64], path[TEMP_PATH_MAX];
    snprintf(text, sizeof text, "#!%s nothing\n", tool);
    write_script("script", text);
    temp_join(path, probed.dir, "script");
    assert_path(path, tool);
    assert_path("./script", tool);
    snprintf(text, sizeof text, "#!%s\n", path);
    write_script("other", text);
    assert_path("./other", tool);
}

/* The kernel executed the loader: its path, not the program's. */
static void the_loader_as_the_executable(void **state)
{
    (void)state;
    const ElfW(Phdr) *parts = (const void *)getauxval(AT_PHDR);
    const char *loader = NULL;
    char real[PATH_MAX];
    struct image_record image;
    assert_non_null(parts);
    for (size_t i = 0; i < getauxval(AT_PHNUM); i++)
        if (parts[i].p_type == PT_INTERP)
            loader = (const char *)parts - parts[0].p_vaddr + parts[i].p_vaddr;
    if (!loader || parts[0].p_type != PT_PHDR)
        leave_out("a program without a loader");
    assert_non_null(realpath(loader, real));
    probed_program(&probed, (char *[]){ (char *)loader, tool, "nothing", NULL });
    assert_int_equal(probed.status, 0);
    assert_true(probed_image(&probed, 0, &image));
    assert_int_equal(image.path.size, strlen(real));
    assert_memory_equal(image.path.data, real, image.path.size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_probed, close_probed)
        TEST(a_link_to_the_file),
        TEST(a_link_to_a_directory),
        TEST(a_link_that_goes_up),
        TEST(a_chain_of_links),
        TEST(a_relative_name),
        TEST(a_linked_directory_in_a_relative_name),
        TEST(a_script),
        TEST(the_loader_as_the_executable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
