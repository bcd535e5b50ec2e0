/* Names in the types that the running kernel tells of itself (BTF): has it a function, a tracepoint? They are looked for among
 * the texts alone, which takes 1 ms; to parse the types, as libbpf does once anyway, takes 7. */
#ifndef SONDE_SYSCALLS_KERNEL_TYPES_H
#define SONDE_SYSCALLS_KERNEL_TYPES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"

struct kernel_types {
    char *all;
    size_t size;
    bool is_mapped;
};

/* Below root. Errors: then no name is found, and kernel_types_clear is harmless. */
enum err kernel_types_init(struct kernel_types *types, const char *root);
void kernel_types_clear(struct kernel_types *types);

bool kernel_types_has(const struct kernel_types *types, const char *name);

#endif
