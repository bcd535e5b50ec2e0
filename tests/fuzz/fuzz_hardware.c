/* Arbitrary content of hardware files: numbers of sysfs, Lustre statistics, devices and environments of GPU jobs. */
#include "jobs/pid_job.h"
#include "samplers/gpu_allocation.h"
#include "samplers/lustre.h"
#include "proc/number.h"
#include "samplers/rapl_meter.h"

#include <stdlib.h>
#include <string.h>

int fuzz_hardware(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void check_numbers(const char *text)
{
    uint64_t u64 = 77;
    int64_t i64 = 77;
    if (number_parse_u64(text, &u64))
        require(u64 == 77);
    if (number_parse_i64(text, &i64))
        require(i64 == 77);
    else if (i64 >= 0 && text[strspn(text, " \t")] != '-') /* "-0" is not an unsigned number */
        require(number_parse_u64(text, &u64) == OK && u64 == (uint64_t)i64);
}

static void check_lustre(const char *text)
{
    struct batch batch;
    char name[LUSTRE_NAME_MAX];
    batch_init(&batch);
    struct sample *sample = batch_add(&batch, &lustre_set, 1, "");
    if (sample)
        lustre_parse(text, sample);
    batch_clear(&batch);
    lustre_file_system(text, name);
    require(strlen(name) < sizeof name && !strncmp(name, text, strlen(name)));
}

static void check_gpu(const char *text, size_t size)
{
    struct gpu_names names = { .count = 3, .minor = { 0, 1, 5 }, .uuid = { "GPU-aaaaaaaa", "GPU-bbbbbbbb", "" } };
    uint32_t held = 0;
    gpu_allocation_parse_devices(text, &names, &held);
    require(held < 8);
    gpu_allocation_parse_list(text, &names, &held);
    require(held < 8);
    if (gpu_allocation_parse_environment((struct bytes){ text, size }, &names, &held) == OK)
        require(held < 8);
    if (pid_job_in_group(text, "/slurm/job_1"))
        require(strstr(text, "/slurm/job_1") != NULL);
}

/* Two arbitrary readings of an energy counter: the total never exceeds what the two can mean. */
static void check_meter(const uint8_t *data, size_t size)
{
    uint64_t words[3];
    if (size < sizeof words)
        return;
    memcpy(words, data, sizeof words);
    struct rapl_meter meter = { .domain = RAPL_PACKAGE, .range_uj = words[2] >> 20 };
    rapl_meter_take_uj(&meter, words[0] >> 20, 0);
    uint64_t first_uj = meter.total_uj;
    rapl_meter_take_uj(&meter, words[1] >> 20, 1000000000);
    require(meter.total_uj >= first_uj && meter.total_uj - first_uj <= 2000000000);
    require(!meter.breaks || meter.total_uj == first_uj);
}

int fuzz_hardware(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    check_numbers(text);
    check_lustre(text);
    check_gpu(text, size);
    check_meter(data, size);
    free(text);
    return 0;
}
