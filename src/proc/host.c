/* Reads the facts of the node from /proc and /sys. */
#include "proc/host.h"

#include "base/file.h"
#include "base/scan.h"
#include "proc/cpulist.h"

#include <string.h>

/* The key of the processor model on x86, loongarch, mips, power, risc-v and old arm. */
static const char *const model_keys[] = { "model name", "Model Name", "cpu model", "cpu\t", "uarch", "Processor" };

static bool copy_value(const char *line, char *out, size_t size)
{
    const char *value = line + strspn(line, " \t");
    if (*value != ':')
        return false;
    value += 1 + strspn(value + 1, " \t");
    size_t length = strcspn(value, "\n");
    if (length >= size)
        length = size - 1;
    memcpy(out, value, length);
    out[length] = '\0';
    return length > 0;
}

/* The first page is enough, and much cheaper than the whole file on a large node: the kernel writes it CPU by CPU. */
static void read_cpu_model(const char *root, struct host_facts *facts)
{
    char text[4096];
    if (file_read(root, "/proc/cpuinfo", text, sizeof text, NULL))
        return;
    for (size_t i = 0; i < sizeof model_keys / sizeof *model_keys; i++) {
        const char *line = scan_line(text, model_keys[i]);
        if (line && copy_value(line, facts->cpu_model, sizeof facts->cpu_model))
            return;
    }
}

static void read_memory(const char *root, struct host_facts *facts)
{
    char text[4096];
    uint64_t kb;
    if (!file_read(root, "/proc/meminfo", text, sizeof text, NULL) && scan_line_u64(text, "MemTotal:", &kb))
        facts->memory_bytes = kb * 1024;
}

static void read_cores(const char *root, struct host_facts *facts)
{
    char text[4096];
    if (!file_read_line(root, "/sys/devices/system/cpu/online", text, sizeof text))
        facts->cores = cpulist_count(text, NULL);
}

void host_read(const char *root, struct host_facts *facts)
{
    *facts = (struct host_facts){ 0 };
    if (file_read_line(root, "/proc/sys/kernel/hostname", facts->name, sizeof facts->name))
        facts->name[0] = '\0';
    if (file_read_line(root, "/proc/sys/kernel/osrelease", facts->kernel, sizeof facts->kernel))
        facts->kernel[0] = '\0';
    read_cpu_model(root, facts);
    read_cores(root, facts);
    read_memory(root, facts);
}

struct host host_from_facts(const struct host_facts *facts)
{
    return (struct host){
        .name = bytes_of(facts->name),
        .kernel = bytes_of(facts->kernel),
        .cpu_model = bytes_of(facts->cpu_model),
        .cores = facts->cores,
        .memory_bytes = facts->memory_bytes,
    };
}
