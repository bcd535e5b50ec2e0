/* The kernel writes "running", or the number of the call, its six arguments, and the pointers of the stack and of the program. */
#include "run/attach_pending.h"

#include "base/file.h"
#include "base/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_ROOM 256
#define STACK_WORD 7

/* The stack of a 32-bit program, whose calls have other numbers, is below 4 GB; no other is. */
static bool is_32_bit(const char *line)
{
    for (int i = 0; i < STACK_WORD && line; i++)
        line = strchr(line + 1, ' ');
    return sizeof(void *) == 8 && line && !(strtoull(line, NULL, 16) >> 32);
}

static void look_at(uint32_t pid, uint32_t tid, struct attach_pending *pending)
{
    char path[64], line[LINE_ROOM];
    const char *at = line;
    uint64_t number;
    snprintf(path, sizeof path, "/proc/%u/task/%u/syscall", pid, tid);
    if (file_read("", path, line, sizeof line, NULL) != OK || !scan_u64(&at, &number)) /* -1: in none */
        return;
    int same = is_32_bit(line) ? syscall_names_from_i386((unsigned)number) : (int)number;
    if (same >= 0 && same < SYSCALL_NAMES_MAX)
        pending->threads[same]++;
}

void attach_pending_look(struct attach_tree *tree, struct attach_pending *pending)
{
    *pending = (struct attach_pending){ 0 };
    for (size_t i = 0; i < tree->pids.count; i++) {
        uint32_t pid = tree->pids.ids[i];
        tree->tids.count = 0;
        if (children_threads(&tree->children, pid, &tree->tids) != OK)
            continue;
        for (size_t j = 0; j < tree->tids.count; j++)
            look_at(pid, tree->tids.ids[j], pending);
    }
}
