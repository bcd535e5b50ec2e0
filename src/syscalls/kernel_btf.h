/* Looks up names in the type information of the running kernel (BTF): does it have a function, a tracepoint? Only the
 * string section is searched, which takes 1 ms; parsing the types as libbpf does takes 7. */
#ifndef SONDE_SYSCALLS_KERNEL_BTF_H
#define SONDE_SYSCALLS_KERNEL_BTF_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

struct kernel_btf {
    char *all;
    size_t size;
    bool is_mapped;
};

/* Reads it below root. After an error no name is found, and kernel_btf_close is harmless. */
enum err kernel_btf_open(struct kernel_btf *types, const char *root);
void kernel_btf_close(struct kernel_btf *types);

bool kernel_btf_has(const struct kernel_btf *types, const char *name);

#endif
