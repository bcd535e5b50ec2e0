/* Names and numbers of system calls, and which of them return bytes. All ways of counting (eBPF, libc, ptrace) write
 * the same instances of the metric set `syscall`. */
#ifndef SONDE_SYSCALLS_SYSCALL_NAMES_H
#define SONDE_SYSCALLS_SYSCALL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#define SYSCALL_NAMES_MAX 512 /* larger numbers are not counted; the kernel has fewer than 480 */
#define SYSCALL_NAMES_OTHER (SYSCALL_NAMES_MAX - 1) /* all others, and calls that only 32-bit programs have */
#define SYSCALL_NAME_MAX 40

/* The meaning of a successful result. */
enum syscall_result {
    SYSCALL_RESULT_OTHER,   /* not a number of bytes */
    SYSCALL_RESULT_READ,    /* bytes read */
    SYSCALL_RESULT_WRITTEN, /* bytes written */
    SYSCALL_RESULT_MOVED,   /* bytes copied between descriptors: sendfile */
};

enum syscall_result syscall_names_result(unsigned number);

/* NULL: unknown to the headers of this build. */
const char *syscall_names_find(unsigned number);

/* Always returns a name: "syscall_467" for a call newer than this build, "other" for SYSCALL_NAMES_OTHER. Returns name
 * or a constant. */
const char *syscall_names_write(unsigned number, char name[SYSCALL_NAME_MAX]);

/* The inverse of syscall_names_write. */
bool syscall_names_read(const char *name, unsigned *number);

/* -1: unknown. */
int syscall_names_number(const char *name);

/* Maps the number of a call in 32-bit programs to that in 64-bit ones; -1: it has none, or this machine has no 32-bit
 * programs. */
int syscall_names_from_i386(unsigned number);

#endif
