/* The functions behind the wrapped ones. dlsym(RTLD_NEXT) and not libc by name, so that other preloaded libraries that
 * wrap the same function still get their turn. */
#include "probe/probe.h"

#include <dlfcn.h>
#include <stdlib.h>

#pragma weak on_exit /* see process.c */

static _Atomic uintptr_t found[NEXT_SIZE];

/* One text with NUL between the names instead of pointers to them: pointers would have to be relocated at each start. */
static const char names[] =
#define X(name) #name "\0"
    NEXT_FIRST(X) NEXT_LATER(X);
#undef X

static const char *name_of(enum next which)
{
    const char *name = names;
    for (int i = 0; i < (int)which; i++)
        name += strlen(name) + 1;
    return name;
}

uintptr_t next_find(enum next which)
{
    uintptr_t function = atomic_load_explicit(&found[which], memory_order_relaxed);
    if (function)
        return function;
    int kept = errno;
    function = (uintptr_t)dlsym(RTLD_NEXT, name_of(which));
    errno = kept;
    atomic_store_explicit(&found[which], function, memory_order_relaxed);
    return function;
}

void next_find_first(void)
{
#define X(name) next_find(NEXT_##name);
    NEXT_FIRST(X)
#undef X
}

void next_find_all(void)
{
    for (int i = 0; i < NEXT_SIZE; i++)
        next_find((enum next)i);
}

bool next_is_libc(enum next which)
{
    Dl_info libc, other;
    return dladdr((void *)(uintptr_t)on_exit, &libc) && dladdr((void *)next_find(which), &other) &&
           libc.dli_fbase == other.dli_fbase;
}
