/* The names come from the headers of the build machine (syscall_list.py). */
#include "syscalls/syscall_names.h"

#include "syscalls/syscall_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN "syscall_"
#define OTHER "other"

static const char *const names[SYSCALL_NAMES_MAX] = {
#define X(number, name) [number] = #name,
    SYSCALL_LIST(X)
#undef X
};

/* Empty on machines other than x86. */
static const char *const names_i386[SYSCALL_NAMES_MAX + 1] = {
#define X(number, name) [number] = #name,
    SYSCALL_LIST_I386(X)
#undef X
    [SYSCALL_NAMES_MAX] = NULL,
};

/* Calls that return a number of bytes. sendmmsg and recvmmsg return numbers of messages. */
static const char *const reads[] = {
    "read", "pread64", "readv", "preadv", "preadv2", "recvfrom", "recvmsg", "recv", "mq_timedreceive", "process_vm_readv", NULL,
};
static const char *const writes[] = {
    "write", "pwrite64", "writev", "pwritev", "pwritev2", "sendto", "sendmsg", "send", "vmsplice", "process_vm_writev", NULL,
};
static const char *const moves[] = { "sendfile", "sendfile64", "splice", "tee", "copy_file_range", NULL };

const char *syscall_names_find(unsigned number)
{
    return number < SYSCALL_NAMES_MAX ? names[number] : NULL;
}

const char *syscall_names_write(unsigned number, char name[SYSCALL_NAME_MAX])
{
    const char *known = syscall_names_find(number);
    if (known || number == SYSCALL_NAMES_OTHER)
        return known ? known : OTHER;
    snprintf(name, SYSCALL_NAME_MAX, UNKNOWN "%u", number);
    return name;
}

int syscall_names_number(const char *name)
{
    for (int i = 0; i < SYSCALL_NAMES_MAX; i++)
        if (names[i] && strcmp(names[i], name) == 0)
            return i;
    return -1;
}

bool syscall_names_read(const char *name, unsigned *number)
{
    int known = syscall_names_number(name);
    const char *digits = name + sizeof UNKNOWN - 1;
    char *end;
    if (known >= 0 || strcmp(name, OTHER) == 0) {
        *number = known >= 0 ? (unsigned)known : SYSCALL_NAMES_OTHER;
        return true;
    }
    if (strncmp(name, UNKNOWN, sizeof UNKNOWN - 1) != 0 || digits[0] < '0' || digits[0] > '9')
        return false;
    unsigned long value = strtoul(digits, &end, 10);
    *number = (unsigned)value;
    return !*end && value < SYSCALL_NAMES_MAX;
}

int syscall_names_from_i386(unsigned number)
{
    const char *name = number < SYSCALL_NAMES_MAX ? names_i386[number] : NULL;
    return name ? syscall_names_number(name) : -1;
}

static int contains(const char *const *list, const char *name)
{
    while (*list && strcmp(*list, name) != 0)
        list++;
    return *list != NULL;
}

enum syscall_result syscall_names_result(unsigned number)
{
    const char *name = syscall_names_find(number);
    if (!name)
        return SYSCALL_RESULT_OTHER;
    return contains(reads, name)    ? SYSCALL_RESULT_READ
           : contains(writes, name) ? SYSCALL_RESULT_WRITTEN
           : contains(moves, name)  ? SYSCALL_RESULT_MOVED
                                 : SYSCALL_RESULT_OTHER;
}
