/* Children of processes, with both methods, on captured nodes and live. */
#include "proc/children.h"

#include "tools/node.h"
#include "tools/refused.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_proc(const char *root)
{
    char path[5000];
    snprintf(path, sizeof path, "%s/proc", root);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void assert_ids(const struct pidlist *list, const uint32_t *ids, size_t count)
{
    assert_int_equal(list->count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(list->ids[i], ids[i]);
}

static void children_of(struct children *children, uint32_t pid, struct pidlist *out)
{
    struct pidlist tids = { 0 };
    out->count = 0;
    assert_int_equal(children_threads(children, pid, &tids), OK);
    assert_int_equal(children_add(children, pid, &tids, out), OK);
    pidlist_clear(&tids);
}

static void children_files_are_used(void **state)
{
    (void)state;
    struct children children;
    struct pidlist found = { 0 };
    int proc_fd = open_proc(node_root("vm"));
    children_init(&children, proc_fd, 8991);
    assert_false(children.scans_proc);
    assert_int_equal(children_refresh(&children), OK);
    children_of(&children, 8991, &found);
    assert_ids(&found, (uint32_t[]){ 8993, 8994 }, 2);
    children_of(&children, 8994, &found); /* started by one of its four threads */
    assert_ids(&found, (uint32_t[]){ 9602 }, 1);
    pidlist_clear(&found);
    children_clear(&children);
    close(proc_fd);
}

static void without_children_files_all_of_proc_is_scanned(void **state)
{
    (void)state;
    struct children children;
    struct pidlist found = { 0 };
    int proc_fd = open_proc(node_root("big"));
    children_init(&children, proc_fd, 500);
    assert_true(children.scans_proc);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(children_refresh(&children), OK);
        children_of(&children, 500, &found);
        assert_ids(&found, (uint32_t[]){ 501 }, 1);
        children_of(&children, 1, &found);
        assert_ids(&found, (uint32_t[]){ 500, 700 }, 2);
        children_of(&children, 2, &found);
        assert_int_equal(found.count, 0);
    }
    pidlist_clear(&found);
    children_clear(&children);
    close(proc_fd);
}

static void a_thousand_children_are_listed(void **state)
{
    (void)state;
    enum { COUNT = 1000 }; /* more than one read of the kernel's list */
    struct children children;
    struct pidlist found = { 0 };
    pid_t pids[COUNT];
    int proc_fd = open_proc("");
    for (int i = 0; i < COUNT; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            pause();
            _exit(0);
        }
    }
    children_init(&children, proc_fd, (uint32_t)getpid());
    enum err err = children_refresh(&children);
    children_of(&children, (uint32_t)getpid(), &found);
    for (int i = 0; i < COUNT; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    assert_int_equal(err, OK);
    assert_int_equal(found.count, COUNT);
    pidlist_clear(&found);
    children_clear(&children);
    close(proc_fd);
}

static void a_missing_process_is_gone(void **state)
{
    (void)state;
    struct children children;
    struct pidlist tids = { 0 };
    int proc_fd = open_proc(node_root("vm"));
    children_init(&children, proc_fd, 8991);
    assert_int_equal(children_threads(&children, 4, &tids), GONE);
    pidlist_clear(&tids);
    children_clear(&children);
    close(proc_fd);
}

static int list_own_threads(void)
{
    struct children children;
    struct pidlist tids = { 0 };
    children_init(&children, open_proc(""), (uint32_t)getpid());
    return (int)children_threads(&children, (uint32_t)getpid(), &tids);
}

static void an_unreadable_directory_is_an_error(void **state)
{
    (void)state;
    int failed = refused_run(list_own_threads, SYS_getdents64, REFUSED_ANY, EIO);
    if (failed == REFUSED_NOT)
        leave_out("no system call can be refused here");
    assert_int_equal(failed, IO);
    assert_int_equal(refused_run(list_own_threads, SYS_getdents64, REFUSED_ANY, ENOENT), OK); /* it has exited */
}

static void an_unreadable_list_is_an_error(void **state)
{
    (void)state;
    struct children children;
    struct pidlist tids = { 0 }, found = { 0 };
    char root[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    static const char *const folders[] = { "proc", "proc/7", "proc/7/task", "proc/7/task/7", "proc/7/task/7/children" };
    temp_dir(root);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        temp_join(path, root, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    int proc_fd = open_proc(root);
    children_init(&children, proc_fd, 7);
    assert_int_equal(children_threads(&children, 7, &tids), OK);
    assert_int_equal(tids.count, 1);
    assert_int_equal(children_add(&children, 7, &tids, &found), IO); /* a directory can be opened but not read */
    pidlist_clear(&tids);
    children_clear(&children);
    close(proc_fd);
    temp_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_files_are_used),
        cmocka_unit_test(without_children_files_all_of_proc_is_scanned),
        cmocka_unit_test(a_thousand_children_are_listed),
        cmocka_unit_test(a_missing_process_is_gone),
        cmocka_unit_test(an_unreadable_directory_is_an_error),
        cmocka_unit_test(an_unreadable_list_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
