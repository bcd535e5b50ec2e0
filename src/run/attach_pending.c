/* The file has "running", or the system call number, its six arguments, the stack pointer and the program counter. */
#include "run/attach_pending.h"

#include "base/file.h"
#include "base/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 256
#define STACK_WORD 7

/* The stack of a 32-bit program, which has other system call numbers, is below 4 GB; that of a 64-bit one is not. */
static bool is_32_bit(const char *line)
{
    for (int i = 0; i < STACK_WORD && line; i++)
        line = strchr(line + 1, ' ');
    return sizeof(void *) == 8 && line && !(strtoull(line, NULL, 16) >> 32);
}

static void read_thread(uint32_t pid, uint32_t tid, struct attach_pending *pending)
{
    char path[64], line[LINE_MAX_BYTES];
    const char *at = line;
    uint64_t number;
    snprintf(path, sizeof path, "/proc/%u/task/%u/syscall", pid, tid);
    if (file_read("", path, line, sizeof line, NULL) != OK || !scan_u64(&at, &number)) /* -1: in none */
        return;
    int same = is_32_bit(line) ? syscall_names_from_i386((unsigned)number) : (int)number;
    if (same >= 0 && same < SYSCALL_NAMES_MAX)
        pending->threads[same]++;
}

void attach_pending_read(struct attach_tree *tree, struct attach_pending *pending)
{
    *pending = (struct attach_pending){ 0 };
    for (size_t i = 0; i < tree->pids.count; i++) {
        uint32_t pid = tree->pids.ids[i];
        tree->tids.count = 0;
        if (children_threads(&tree->children, pid, &tree->tids) != OK)
            continue;
        for (size_t j = 0; j < tree->tids.count; j++)
            read_thread(pid, tree->tids.ids[j], pending);
    }
}
