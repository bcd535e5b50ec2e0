/* An anonymous mapping as the stack. The largest frames (a batch of kernel messages) have 70 KB, those of sonde attach 190. */
#include "base/stack.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)1 << 20) /* only touched pages cost memory */

/* makecontext cannot pass pointers. */
static struct {
    int (*function)(int argc, char **argv);
    int argc, result;
    char **argv;
} call;

static void begin(void)
{
    call.result = call.function(call.argc, call.argv);
}

static bool is_small(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < STACK_BYTES;
}

/* The lowest page is a guard page. NULL: out of memory. */
static void *map_stack(void)
{
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return NULL;
    mprotect(stack, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE);
    return stack;
}

int stack_call(int (*function)(int argc, char **argv), int argc, char **argv)
{
    static ucontext_t here, there; /* too large for a small stack */
    void *stack = is_small() ? map_stack() : NULL;
    if (!stack || getcontext(&there) != 0)
        return function(argc, argv);
    call.function = function;
    call.argc = argc;
    call.argv = argv;
    there.uc_stack = (stack_t){ .ss_sp = stack, .ss_size = STACK_BYTES };
    there.uc_link = &here;
    makecontext(&there, begin, 0);
    swapcontext(&here, &there);
    munmap(stack, STACK_BYTES);
    return call.result;
}
