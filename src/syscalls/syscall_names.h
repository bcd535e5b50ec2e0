/* System calls by number and by name, and which of them return bytes: what counts calls in the kernel, in a program or
 * from beside it writes the same instances of the set `syscall`. */
#ifndef SONDE_SYSCALLS_SYSCALL_NAMES_H
#define SONDE_SYSCALLS_SYSCALL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#define SYSCALL_NAMES_MAX 512 /* numbers below it are counted; the kernel has less than 480 */
#define SYSCALL_NAMES_OTHER (SYSCALL_NAMES_MAX - 1) /* all others, and those that only 32-bit programs have */
#define SYSCALL_NAME_MAX 40

/* What a result that is no error means. */
enum syscall_result {
    SYSCALL_RESULT_OTHER,   /* not bytes */
    SYSCALL_RESULT_READ,    /* bytes that came in */
    SYSCALL_RESULT_WRITTEN, /* bytes that went out */
    SYSCALL_RESULT_MOVED,   /* bytes from one descriptor to another: sendfile */
};

enum syscall_result syscall_names_result(unsigned number);

/* NULL: the headers of this build do not know it. */
const char *syscall_names_find(unsigned number);

/* Always a name: "syscall_467" for one that is newer than this build, "other" for SYSCALL_NAMES_OTHER. Returns
 * name or a constant. */
const char *syscall_names_write(unsigned number, char name[SYSCALL_NAME_MAX]);

/* The way back from what syscall_names_write wrote. */
bool syscall_names_read(const char *name, unsigned *number);

/* -1: there is none. */
int syscall_names_number(const char *name);

/* The number that a call of a 32-bit program has in 64-bit ones; -1: it has none. Machines without such programs: -1. */
int syscall_names_from_i386(unsigned number);

#endif
