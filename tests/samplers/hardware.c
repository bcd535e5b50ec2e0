/* Common to all hardware samplers: no allocation once warm, no descriptor leaks, and advice for doctor. */
#include "samplers/all.h"

#include "tools/node.h"
#include "tools/sensing.h"

#include <dirent.h>

/* Counts allocations, unless a sanitizer replaces malloc. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
#define COUNTS_ALLOCATIONS 1
static volatile unsigned allocations;
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
void *malloc(size_t size) { allocations++; return __libc_malloc(size); }
void *calloc(size_t count, size_t size) { allocations++; return __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { allocations++; return __libc_realloc(memory, size); }
#endif

static const struct sampler *const samplers[] = { &sampler_rapl, &sampler_temperature, &sampler_infiniband,
                                                  &sampler_lustre };
#define SAMPLERS (sizeof samplers / sizeof *samplers)

static size_t open_files(void)
{
    size_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

static void nothing_is_allocated_once_it_is_warm(void **state)
{
    (void)state;
#ifdef COUNTS_ALLOCATIONS
    static const struct job job = { .id = "11", .cgroup = "/slurm/uid_1000/job_11" };
    for (size_t i = 0; i < SAMPLERS; i++) {
        struct sensing s;
        sensing_init(&s, samplers[i], node_root("sensors"));
        if (samplers[i] == &sampler_rapl)
            sensing_set(&s, "share_period", "0s");
        assert_int_equal(sensing_open(&s), OK);
        if (samplers[i]->job)
            assert_int_equal(sensing_job(&s, &job, JOB_BEGIN), OK);
        assert_int_equal(sensing_read(&s), OK);
        unsigned before = allocations;
        for (int n = 0; n < 1000; n++)
            assert_int_equal(sensing_read(&s), OK);
        assert_int_equal(allocations, before);
        sensing_end(&s);
    }
#else
    leave_out("the sanitizer has its own allocator");
#endif
}

static void every_file_is_closed_again(void **state)
{
    (void)state;
    static const char *const nodes[] = { "sensors", "sick", "vm" };
    size_t before = open_files();
    for (size_t n = 0; n < 3; n++)
        for (size_t i = 0; i < SAMPLERS; i++) {
            struct sensing s;
            if (sensing_begin(&s, samplers[i], node_root(nodes[n])) != OK)
                continue;
            sensing_read(&s);
            sensing_end(&s);
        }
    assert_int_equal(open_files(), before);
}

static void each_has_a_fix_when_absent(void **state)
{
    (void)state;
    static const struct sampler *const all[] = { &sampler_rapl, &sampler_temperature, &sampler_infiniband,
                                                 &sampler_lustre, &sampler_ipmi, &sampler_gpu };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_non_null(all[i]->absent_reason);
        assert_non_null(all[i]->absent_fix);
        assert_int_not_equal(all[i]->absent_reason[strlen(all[i]->absent_reason) - 1], '.');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_allocated_once_it_is_warm),
        cmocka_unit_test(every_file_is_closed_again),
        cmocka_unit_test(each_has_a_fix_when_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
