/* A thread drops its capabilities; the others keep theirs. */
#include "base/capabilities.h"

#include "tools/unit.h"

#include <linux/capability.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t effective(void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2];
    assert_int_equal(syscall(SYS_capget, &head, sets), 0);
    return sets[0].effective | (uint64_t)sets[1].effective << 32;
}

static void *drop(void *keep)
{
    static uint64_t left[2];
    enum err err = capabilities_drop(*(uint64_t *)keep);
    left[0] = err ? UINT64_MAX : effective();
    err = capabilities_drop(0);
    left[1] = err ? UINT64_MAX : effective();
    return left;
}

static void one_thread_drops_its_capabilities(void **state)
{
    (void)state;
    uint64_t before = effective(), keep = 1ull << CAP_KILL;
    pthread_t thread;
    void *left;
    assert_int_equal(pthread_create(&thread, NULL, drop, &keep), 0);
    assert_int_equal(pthread_join(thread, &left), 0);
    assert_int_equal(((uint64_t *)left)[0], before & keep);
    assert_int_equal(((uint64_t *)left)[1], 0);
    assert_int_equal(effective(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(one_thread_drops_its_capabilities) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
