/* The list of commands: each is complete, and its options do not clash with the shared ones. */
#include "cli/command.h"

#include "tools/unit.h"

static bool same(const struct option *a, const struct option *b)
{
    return (a->letter && a->letter == b->letter) || (a->name && b->name && strcmp(a->name, b->name) == 0);
}

static void check_options(const struct command *command, const struct option *shared)
{
    for (const struct option *o = command->options; o && !option_is_end(o); o++) {
        assert_true(o->help && *o->help && o->help[strlen(o->help) - 1] != '.');
        assert_true(o->offset < command->settings_size);
        assert_int_equal(o->argument == NULL, o->type == OPTION_FLAG || o->type == OPTION_COUNT);
        assert_int_equal(o->choices != NULL, o->type == OPTION_CHOICE);
        for (const struct option *other = command->options; other < o; other++)
            assert_false(same(o, other));
        for (const struct option *other = shared; !option_is_end(other); other++)
            assert_false(same(o, other));
    }
}

static void every_command_is_complete(void **state)
{
    (void)state;
    struct option shared[COMMAND_SHARED_MAX];
    size_t count = 0;
    for (const struct command *const *c = command_all; *c; c++, count++) {
        print_message("# %s\n", (*c)->name);
        assert_true((*c)->about && (*c)->usage && (*c)->description && (*c)->run);
        assert_true((*c)->about[strlen((*c)->about) - 1] != '.');
        assert_ptr_equal(command_find((*c)->name), *c);
        assert_int_equal((*c)->operand == NULL, (*c)->operands_max == 0);
        command_shared_options(COMMAND_DB | COMMAND_ROOT | ((*c)->shares & COMMAND_OWN_VERBOSE), shared);
        check_options(*c, shared);
    }
    assert_true(count >= 6);
    assert_null(command_find("no-such"));
}

static void every_default_parses(void **state)
{
    (void)state;
    for (const struct command *const *c = command_all; *c; c++)
        for (const struct option *o = (*c)->options; o && !option_is_end(o); o++) {
            if (!o->initial)
                continue;
            void *settings = calloc(1, (*c)->settings_size);
            struct option one[] = { *o, OPTION_END };
            struct option_set set = { one, settings };
            char value[256];
            char *words[] = { value, NULL };
            int operands;
            struct buf message;
            buf_init(&message, 1000);
            snprintf(value, sizeof value, "--%s=%s", o->name, o->initial);
            assert_int_equal(option_parse(&set, 1, 1, words, false, &operands, &message), OK);
            option_clear(&set);
            buf_clear(&message);
            free(settings);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_is_complete),
        cmocka_unit_test(every_default_parses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
