/* A job database that a group may read: modes of all its files, and the message for other users. */
#include "store/share.h"

#include "tools/temp.h"
#include "tools/unit.h"

#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct place {
    char dir[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    struct store *store;
};

static void begin(struct place *place)
{
    char *message = NULL;
    temp_dir(place->dir);
    chmod(place->dir, 0755);
    temp_join(place->path, place->dir, "sonde.db");
    assert_int_equal(store_open(&place->store, place->path, STORE_WRITE, &message), OK);
    free(message);
}

static void end(struct place *place)
{
    store_close(&place->store);
    temp_remove(place->dir);
}

static unsigned mode_of(const struct place *place, const char *end_of_name)
{
    char path[TEMP_PATH_MAX + 8];
    struct stat facts;
    snprintf(path, sizeof path, "%s%s", place->path, end_of_name);
    return stat(path, &facts) == 0 ? facts.st_mode & 0777 : 0;
}

static void all_three_files_get_the_group(void **state)
{
    (void)state;
    struct place place;
    const struct group *group = getgrgid(getgid());
    if (!group)
        leave_out("this user's group has no name");
    begin(&place);
    assert_int_equal(mode_of(&place, ""), 0600);
    assert_int_equal(share_with(place.store, group->gr_name), OK);
    assert_int_equal(mode_of(&place, ""), 0640);
    if (mode_of(&place, "-wal")) { /* there is none on a shared file system */
        assert_int_equal(mode_of(&place, "-wal"), 0640);
        assert_int_equal(mode_of(&place, "-shm"), 0640);
    }
    chmod(place.dir, 0700);
    if (getgid() == 0) {
        assert_int_equal(share_with(place.store, group->gr_name), DENIED);
        assert_non_null(strstr(store_message(place.store), "not enter its directory"));
    }
    end(&place);
}

static void an_unknown_group_is_reported(void **state)
{
    (void)state;
    struct place place;
    gid_t gid;
    begin(&place);
    assert_int_equal(share_group("no such group", &gid), ABSENT);
    assert_int_equal(share_group("", &gid), ABSENT);
    assert_int_equal(share_with(place.store, "nosuchgroup"), ABSENT);
    assert_non_null(strstr(store_message(place.store), "groupadd --system nosuchgroup"));
    assert_int_equal(mode_of(&place, ""), 0600);
    end(&place);
}

/* Opens it in a process of another user and checks the message. */
static void ask_as_stranger(const struct place *place, const char *expected)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct store *store = NULL;
        char *message = NULL;
        bool is_other = setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0;
        enum err err = store_open(&store, place->path, STORE_READ, &message);
        bool is_expected = err == DENIED && message && strstr(message, expected);
        if (!is_expected)
            fprintf(stderr, "# %s: %s\n", err_text(err), message ? message : "");
        free(message);
        _exit(!is_other || !is_expected);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void the_error_says_who_may_read(void **state)
{
    (void)state;
    struct place place;
    if (getuid() != 0)
        leave_out("needs root");
    begin(&place);
    ask_as_stranger(&place, "only its owner may");
    assert_int_equal(share_with(place.store, getgrgid(0)->gr_name), OK);
    ask_as_stranger(&place, "its group root may");
    chmod(place.dir, 0700);
    ask_as_stranger(&place, "only its owner may");
    end(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_three_files_get_the_group),
        cmocka_unit_test(an_unknown_group_is_reported),
        cmocka_unit_test(the_error_says_who_may_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
