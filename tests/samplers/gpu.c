/* GPUs with a fake NVML: cards, their failures, and the jobs that they are allocated to and used by. */
#include "samplers/all.h"

#include "samplers/gpu_allocation.h"
#include "samplers/gpu_jobs.h"
#include "tools/fake_nvml.h"
#include "tools/sensing.h"

#include <dlfcn.h>
#include <unistd.h>

#define GB (1024ull * 1024 * 1024)
#define LOST 15
#define NO_DRIVER 9

static char library[4096];
static struct fake_nvml *fake;
static void *handle;

static void load(const char *name)
{
    if (handle)
        dlclose(handle);
    snprintf(library, sizeof library, "%s/%s", getenv("TOOLS"), name);
    handle = dlopen(library, RTLD_NOW);
    assert_non_null(handle);
    fake = dlsym(handle, "fake_nvml");
    assert_non_null(fake);
    *fake = (struct fake_nvml){ .count = 2 };
    for (unsigned i = 0; i < 2; i++) {
        fake->gpus[i] = (struct fake_gpu){ .minor = i, .percent = 87 - i, .memory_percent = 12, .milliwatts = 61500,
                                           .celsius = 45, .megahertz = 1410, .total = 40 * GB, .used = 3 * GB,
                                           .millijoules = 1000000 };
        snprintf(fake->gpus[i].uuid, sizeof fake->gpus[i].uuid, "GPU-%08x-1111-2222-3333-444444444444", 0xabcd0000 + i);
    }
}

static int setup(void **state)
{
    (void)state;
    load("libnvidia-ml.so.1");
    return 0;
}

static enum err begin(struct sensing *s, const char *root)
{
    sensing_init(s, &sampler_gpu, root);
    sensing_set(s, "library", library);
    return sensing_open(s);
}

static void cards_are_read(void **state)
{
    (void)state;
    struct sensing s;
    assert_int_equal(begin(&s, ""), OK);
    fake->gpus[1].process_count = 2;
    fake->gpus[1].pids[0] = 70001;
    fake->gpus[1].pids[1] = 70002;
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(s.batch.count, 2);
    assert_int_equal(sensing_u64(&s, "gpu0", "utilization"), 87);
    assert_int_equal(sensing_u64(&s, "gpu1", "utilization"), 86);
    assert_int_equal(sensing_u64(&s, "gpu0", "memory_utilization"), 12);
    assert_int_equal(sensing_u64(&s, "gpu0", "memory_total"), 40 * GB);
    assert_int_equal(sensing_u64(&s, "gpu0", "memory_used"), 3 * GB);
    assert_near(sensing_f64(&s, "gpu0", "power"), 61.5, 1e-9);
    assert_near(sensing_f64(&s, "gpu0", "power_limit"), 400, 1e-9);
    assert_near(sensing_f64(&s, "gpu0", "temperature"), 45, 1e-9);
    assert_int_equal(sensing_u64(&s, "gpu0", "energy"), 1000000000);
    assert_int_equal(sensing_u64(&s, "gpu0", "memory_clock"), 2820000000);
    assert_int_equal(sensing_u64(&s, "gpu0", "processes"), 0);
    assert_int_equal(sensing_u64(&s, "gpu1", "processes"), 2); /* one of them is a graphics process too */
    sensing_end(&s);
    assert_int_equal(fake->shutdowns, fake->inits);
}

static void a_lost_card_does_not_affect_the_other(void **state)
{
    (void)state;
    struct sensing s;
    assert_int_equal(begin(&s, ""), OK);
    fake->gpus[0].answer = LOST;
    assert_int_equal(sensing_read(&s), OK);
    assert_null(sensing_find(&s, "gpu0", NULL, "utilization"));
    assert_null(sensing_find(&s, "gpu0", NULL, "energy"));
    assert_int_equal(sensing_u64(&s, "gpu1", "utilization"), 86);
    fake->gpus[1].answer = LOST;
    assert_int_equal(sensing_read(&s), IO); /* all of them: it is reopened later */
    sensing_end(&s);
    fake->gpus[1].answer = 0;
    assert_int_equal(begin(&s, ""), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(s.batch.count, 1);
    assert_int_equal(sensing_u64(&s, "gpu1", "utilization"), 86); /* keeps its name */
    sensing_end(&s);
}

static void an_old_driver_has_less(void **state)
{
    (void)state;
    struct sensing s;
    load("libnvidia-ml-old.so.1");
    fake->gpus[0].process_count = 3;
    assert_int_equal(begin(&s, ""), OK);
    fake->gpus[0].pids[1] = 5;
    fake->gpus[0].pids[2] = 6;
    assert_int_equal(sensing_read(&s), OK);
    assert_null(sensing_find(&s, "gpu0", NULL, "energy"));
    assert_null(sensing_find(&s, "gpu0", NULL, "power_limit"));
    assert_int_equal(sensing_u64(&s, "gpu0", "processes"), 3);
    sensing_end(&s);
}

static void without_library_driver_or_card_it_is_absent(void **state)
{
    (void)state;
    struct sensing s;
    fake->init_answer = NO_DRIVER;
    assert_int_equal(begin(&s, ""), ABSENT);
    fake->init_answer = 4;
    assert_int_equal(begin(&s, ""), DENIED);
    fake->init_answer = 0;
    fake->count = 0;
    assert_int_equal(begin(&s, ""), ABSENT);
    assert_int_equal(fake->shutdowns, fake->inits);
    snprintf(library, sizeof library, "/nonexistent/libnvidia-ml.so.1");
    assert_int_equal(begin(&s, ""), ABSENT);
    assert_int_equal(sensing_begin(&s, &sampler_gpu, "/nonexistent"), ABSENT);
    if (access("/dev/nvidiactl", F_OK) != 0)
        assert_int_equal(sensing_begin(&s, &sampler_gpu, ""), ABSENT);
}

static const struct job job_1 = { .id = "1", .cgroup = "/slurm/uid_7/job_1" };
static const struct job job_2 = { .id = "2", .cgroup = "/system.slice/slurmstepd.scope/job_2", .unified = true, .slot = 1 };

static void make_node(char root[TEMP_PATH_MAX])
{
    temp_dir(root);
    sensing_put(root, "proc/self/mountinfo",
                "25 24 0:23 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
                "26 24 0:24 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices\n"
                "27 24 0:25 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n");
    sensing_put(root, "sys/fs/cgroup/devices/slurm/uid_7/job_1/devices.list", "c 1:3 rwm\nc 195:255 rwm\nc 195:0 rw\n");
    sensing_put(root, "sys/fs/cgroup/unified/system.slice/slurmstepd.scope/job_2/cgroup.procs", "");
    sensing_put(root, "sys/fs/cgroup/unified/system.slice/slurmstepd.scope/job_2/step_0/user/task_0/cgroup.procs",
                "802\n");
    char path[TEMP_PATH_MAX];
    temp_join(path, root, "proc/802/environ");
    temp_write(path, "HOME=/\0SLURM_JOB_GPUS=1\0CUDA_VISIBLE_DEVICES=0\0", 47);
    sensing_put(root, "proc/801/cgroup", "8:freezer:/slurm/uid_7/job_1/step_0\n0::/\n");
    sensing_put(root, "proc/802/cgroup", "0::/system.slice/slurmstepd.scope/job_2/step_0/user/task_0\n");
    sensing_put(root, "proc/900/cgroup", "0::/system.slice/slurmstepd.scope/job_22\n");
}

static const union value *of_job(const struct sensing *s, const char *instance, const char *job, const char *metric)
{
    return sensing_find(s, instance, job, metric);
}

static void cards_are_attributed_to_jobs(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX];
    make_node(root);
    assert_int_equal(begin(&s, root), OK);
    assert_int_equal(sensing_job(&s, &job_1, JOB_BEGIN), OK);
    assert_int_equal(sensing_job(&s, &job_2, JOB_BEGIN), OK);
    fake->gpus[0].process_count = 1;
    fake->gpus[0].pids[0] = 801;
    fake->gpus[0].memory[0] = 2 * GB;
    fake->gpus[0].millijoules += 5000;
    usleep(20000);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(s.batch.count, 2 + 2);
    assert_string_equal(sensing_sample(&s, "gpu0", "1")->set->name, "gpu_job");
    assert_int_equal(of_job(&s, "gpu0", "1", "held")->u64, 1);
    assert_int_equal(of_job(&s, "gpu0", "1", "processes")->u64, 1);
    assert_int_equal(of_job(&s, "gpu0", "1", "memory")->u64, 2 * GB);
    assert_int_equal(of_job(&s, "gpu0", "1", "idle")->u64, 0);
    assert_int_equal(of_job(&s, "gpu0", "1", "utilization")->u64, 87);
    assert_int_equal(of_job(&s, "gpu0", "1", "energy")->u64, 5000000);
    assert_int_equal(of_job(&s, "gpu1", "2", "processes")->u64, 0); /* allocated but not used */
    assert_in_range(of_job(&s, "gpu1", "2", "idle")->u64, 20000, 20000000);

    fake->gpus[1].process_count = 1; /* of no job: job 22 is not job 2 */
    fake->gpus[1].pids[0] = 900;
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(of_job(&s, "gpu1", "2", "processes")->u64, 0);
    assert_null(of_job(&s, "gpu1", "2", "utilization"));
    assert_null(of_job(&s, "gpu1", "2", "energy"));

    fake->gpus[0].millijoules += 1000;
    assert_int_equal(sensing_job(&s, &job_1, JOB_END), OK);
    assert_int_equal(s.batch.count, 1);
    assert_int_equal(of_job(&s, "gpu0", "1", "energy")->u64, 6000000);
    assert_int_equal(sensing_read(&s), OK);
    assert_null(sensing_sample(&s, "gpu0", "1"));
    assert_int_equal(sensing_job(&s, &job_1, JOB_END), OK); /* once */
    assert_int_equal(s.batch.count, 0);
    sensing_end(&s);
    temp_remove(root);
}

static void unreported_memory_is_unknown(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX];
    make_node(root);
    assert_int_equal(begin(&s, root), OK);
    assert_int_equal(sensing_job(&s, &job_1, JOB_BEGIN), OK);
    fake->gpus[0].process_count = 1;
    fake->gpus[0].pids[0] = 801;
    fake->gpus[0].memory[0] = ~0ull;
    assert_int_equal(sensing_read(&s), OK);
    assert_null(of_job(&s, "gpu0", "1", "memory"));
    assert_int_equal(of_job(&s, "gpu0", "1", "processes")->u64, 1);
    sensing_end(&s);
    temp_remove(root);
}

static void a_job_shorter_than_an_interval_has_its_energy(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX];
    make_node(root);
    assert_int_equal(begin(&s, root), OK);
    assert_int_equal(sensing_job(&s, &job_1, JOB_BEGIN), OK);
    assert_int_equal(s.batch.count, 1);
    assert_int_equal(of_job(&s, "gpu0", "1", "energy")->u64, 0);
    fake->gpus[0].millijoules += 77;
    assert_int_equal(sensing_job(&s, &job_1, JOB_END), OK);
    assert_int_equal(s.batch.count, 1);
    assert_int_equal(of_job(&s, "gpu0", "1", "energy")->u64, 77000);
    assert_null(of_job(&s, "gpu0", "1", "idle")); /* not read */
    sensing_end(&s);
    temp_remove(root);
}

static void begin_job_1(struct sensing *s, char root[TEMP_PATH_MAX])
{
    make_node(root);
    assert_int_equal(begin(s, root), OK);
    assert_int_equal(sensing_job(s, &job_1, JOB_BEGIN), OK);
}

static void energy_without_a_first_reading_is_unknown(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX];
    make_node(root);
    assert_int_equal(begin(&s, root), OK);
    fake->gpus[0].answer = LOST;
    assert_int_equal(sensing_job(&s, &job_1, JOB_BEGIN), OK);
    assert_null(of_job(&s, "gpu0", "1", "energy"));
    fake->gpus[0].answer = 0;
    fake->gpus[0].millijoules += 5000; /* the increase is unknown */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sensing_read(&s), OK);
        assert_non_null(of_job(&s, "gpu0", "1", "power"));
        assert_null(of_job(&s, "gpu0", "1", "energy"));
    }
    sensing_end(&s);
    temp_remove(root);
}

static void energy_is_unknown_while_it_cannot_be_read(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX];
    begin_job_1(&s, root);
    fake->gpus[0].millijoules += 5000;
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(of_job(&s, "gpu0", "1", "energy")->u64, 5000000);
    fake->gpus[0].answer = LOST;
    assert_int_equal(sensing_read(&s), OK);
    assert_null(of_job(&s, "gpu0", "1", "energy"));
    fake->gpus[0].answer = 0;
    fake->gpus[0].millijoules += 2000;
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(of_job(&s, "gpu0", "1", "energy")->u64, 7000000);
    sensing_end(&s);
    temp_remove(root);
}

static void a_reset_card_makes_the_energy_unknown(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX];
    begin_job_1(&s, root);
    fake->gpus[0].millijoules = 30;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sensing_read(&s), OK);
        assert_null(of_job(&s, "gpu0", "1", "energy"));
        assert_int_equal(sensing_u64(&s, "gpu0", "energy"), 30000);
    }
    sensing_end(&s);
    temp_remove(root);
}

/* Like Slurm's prolog. */
static void a_job_declared_before_its_cgroup_has_its_cards(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX];
    struct job job = { .id = "1", .cgroup = "" };
    make_node(root);
    assert_int_equal(begin(&s, root), OK);
    assert_int_equal(sensing_job(&s, &job, JOB_BEGIN), OK);
    fake->gpus[0].process_count = 1;
    fake->gpus[0].pids[0] = 801;
    fake->gpus[0].memory[0] = 2 * GB;
    assert_int_equal(sensing_read(&s), OK);
    assert_null(sensing_sample(&s, "gpu0", "1"));
    job.cgroup = job_1.cgroup;
    assert_int_equal(sensing_job(&s, &job, JOB_CHANGE), OK);
    fake->gpus[0].millijoules += 5000;
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(of_job(&s, "gpu0", "1", "held")->u64, 1);
    assert_int_equal(of_job(&s, "gpu0", "1", "processes")->u64, 1);
    assert_int_equal(of_job(&s, "gpu0", "1", "memory")->u64, 2 * GB);
    assert_int_equal(of_job(&s, "gpu0", "1", "energy")->u64, 5000000);
    assert_null(sensing_sample(&s, "gpu1", "1"));
    job.user = "ann"; /* its cgroup is unchanged: known facts stay */
    sensing_put(root, "sys/fs/cgroup/devices/slurm/uid_7/job_1/devices.list", "a *:* rwm\n");
    assert_int_equal(sensing_job(&s, &job, JOB_CHANGE), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(of_job(&s, "gpu0", "1", "held")->u64, 1);
    sensing_end(&s);
    temp_remove(root);
}

/* Declared with its first process, then found in v2: the process no longer identifies it. */
static void a_job_with_a_new_cgroup_is_looked_up_again(void **state)
{
    (void)state;
    struct sensing s;
    char root[TEMP_PATH_MAX], path[TEMP_PATH_MAX];
    struct job job = { .id = "2", .cgroup = "", .pid = 801 };
    make_node(root);
    temp_join(path, root, "proc/801/environ");
    temp_write(path, "SLURM_JOB_GPUS=0\0", 17);
    assert_int_equal(begin(&s, root), OK);
    assert_int_equal(sensing_job(&s, &job, JOB_BEGIN), OK);
    assert_int_equal(of_job(&s, "gpu0", "2", "held")->u64, 1);
    job = job_2;
    assert_int_equal(sensing_job(&s, &job, JOB_CHANGE), OK);
    assert_int_equal(sensing_read(&s), OK);
    assert_int_equal(of_job(&s, "gpu1", "2", "held")->u64, 1);
    assert_null(sensing_sample(&s, "gpu0", "2"));
    sensing_end(&s);
    temp_remove(root);
}

static struct gpu_names two(void)
{
    struct gpu_names names = { .count = 3, .minor = { 0, 1, 5 } };
    snprintf(names.uuid[0], sizeof names.uuid[0], "GPU-aaaaaaaa-1");
    snprintf(names.uuid[2], sizeof names.uuid[2], "GPU-cccccccc-1");
    return names;
}

static void lists_of_cards_are_parsed(void **state)
{
    (void)state;
    struct gpu_names names = two();
    static const struct { const char *text; enum err err; uint32_t allocated; } cases[] = {
        { "0", OK, 1 }, { "0,1", OK, 3 }, { "0-1,5", OK, 7 }, { "5", OK, 4 }, { "3", OK, 0 }, { "", OK, 0 },
        { "none", OK, 0 }, { "NoDevFiles", OK, 0 }, { "all", OK, 7 }, { "GPU-cccccccc-1", OK, 4 },
        { "GPU-aaaa,GPU-cccccccc-1", OK, 5 }, { "GPU-a", OK, 0 }, { "x", CORRUPT, 0 }, { "0;1", CORRUPT, 1 },
        { "0-99999999999", CORRUPT, 0 }, { "5-0", CORRUPT, 0 }, { "99999999999999999999", CORRUPT, 0 },
        { "18446744073709551615", OK, 0 }, { "18446744073709551610-18446744073709551615", OK, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t allocated = 99;
        assert_int_equal(gpu_allocation_parse_list(cases[i].text, &names, &allocated), cases[i].err);
        assert_int_equal(allocated, cases[i].allocated);
    }
}

static void devices_and_environments_are_parsed(void **state)
{
    (void)state;
    struct gpu_names names = two();
    uint32_t allocated;
    assert_int_equal(gpu_allocation_parse_devices("c 195:5 rwm\nc 195:254 rw\nb 195:0 rw\n", &names, &allocated), OK);
    assert_int_equal(allocated, 4);
    assert_int_equal(gpu_allocation_parse_devices("a *:* rwm\n", &names, &allocated), ABSENT);
    assert_int_equal(gpu_allocation_parse_devices("c 195:* rwm\n", &names, &allocated), ABSENT);
    assert_int_equal(gpu_allocation_parse_devices("", &names, &allocated), OK);
    assert_int_equal(allocated, 0);
    static const char both[] = "A=1\0CUDA_VISIBLE_DEVICES=0\0SLURM_JOB_GPUS=1\0";
    assert_int_equal(gpu_allocation_parse_environment((struct bytes){ both, sizeof both - 1 }, &names, &allocated), OK);
    assert_int_equal(allocated, 2);
    static const char cut[] = "XCUDA_VISIBLE_DEVICES=0\0CUDA_VISIBLE_DEVICES=1";
    assert_int_equal(gpu_allocation_parse_environment((struct bytes){ cut, sizeof cut - 1 }, &names, &allocated),
                     ABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(cards_are_read, setup),
        cmocka_unit_test_setup(a_lost_card_does_not_affect_the_other, setup),
        cmocka_unit_test_setup(an_old_driver_has_less, setup),
        cmocka_unit_test_setup(without_library_driver_or_card_it_is_absent, setup),
        cmocka_unit_test_setup(cards_are_attributed_to_jobs, setup),
        cmocka_unit_test_setup(unreported_memory_is_unknown, setup),
        cmocka_unit_test_setup(a_job_shorter_than_an_interval_has_its_energy, setup),
        cmocka_unit_test_setup(energy_without_a_first_reading_is_unknown, setup),
        cmocka_unit_test_setup(energy_is_unknown_while_it_cannot_be_read, setup),
        cmocka_unit_test_setup(a_reset_card_makes_the_energy_unknown, setup),
        cmocka_unit_test_setup(a_job_declared_before_its_cgroup_has_its_cards, setup),
        cmocka_unit_test_setup(a_job_with_a_new_cgroup_is_looked_up_again, setup),
        cmocka_unit_test(lists_of_cards_are_parsed),
        cmocka_unit_test(devices_and_environments_are_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
