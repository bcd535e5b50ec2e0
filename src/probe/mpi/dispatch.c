/* The preloaded half of the MPI probe. It exports every MPI_ and PMPI_ function of C as a jump (names.S, generated).
 * Fortran needs no wrappers of its own, since its interfaces call those of C: OpenMPI's PMPI_, MPICH's MPI_.
 *
 * At the first call it finds out which MPI the program has loaded, loads the wrappers of that family from its own
 * directory, and fills the jump table. Without wrappers, or with SONDE_MPI=off, the jumps go directly to MPI. */
#include "probe/mpi/backend.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERROR_OTHER 16 /* returned by a missing function: MPI_ERR_OTHER or similar in every family, never MPI_SUCCESS */

typedef void (*function)(void);

extern __attribute__((visibility("hidden"))) function jump_table[];    /* two for each name: MPI_, PMPI_ */
extern __attribute__((visibility("hidden"))) const char jump_names[];  /* "MPI_Abort\0MPI_Accumulate\0…\0" */
__attribute__((visibility("hidden"))) function dispatch_resolve(unsigned number);

enum { UNTOUCHED, FILLING, FILLED };
static int state;
static void *library; /* the loaded MPI; NULL: none */

static const struct mpi_family {
    const char *symbol; /* defined by this family only */
    const char *wrappers;
} families[] = {
    { "ompi_mpi_comm_world", "libsonde-mpi-openmpi.so" },
    { "MPIR_Dup_fn", "libsonde-mpi-mpich.so" },
};

static int return_error(void)
{
    return ERROR_OTHER;
}

/* Programs without MPI may ask whether it is initialised: they found the function because this library exports it. */
static int answer_no(int *flag)
{
    *flag = 0;
    return 0;
}

static bool is_question(const char *name)
{
    return strcmp(name, "MPI_Initialized") == 0 || strcmp(name, "MPI_Finalized") == 0;
}

struct candidate {
    unsigned wanted; /* which of the libraries that look like MPI */
    char path[PATH_MAX];
};

/* For dl_iterate_phdr. It holds a lock of the loader, under which nothing may be opened: only copy the name. */
static int take_candidate(struct dl_phdr_info *info, size_t size, void *to)
{
    (void)size;
    struct candidate *candidate = to;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    if (strncmp(name, "libmpi", 6) != 0 || candidate->wanted-- > 0)
        return 0;
    snprintf(candidate->path, sizeof candidate->path, "%s", info->dlpi_name);
    return 1;
}

/* The first loaded library that looks like MPI and defines its functions; it stays loaded. NULL: none. */
static void *find_library(void)
{
    struct candidate candidate;
    for (unsigned i = 0;; i++) {
        candidate.wanted = i;
        if (!dl_iterate_phdr(take_candidate, &candidate))
            return NULL;
        void *handle = dlopen(candidate.path, RTLD_LAZY | RTLD_NOLOAD);
        if (handle && dlsym(handle, "PMPI_Init"))
            return handle;
        if (handle)
            dlclose(handle);
    }
}

static void *own_symbol(const char *prefix, const char *name)
{
    char full[128];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return dlsym(library, full);
}

/* From the directory of this library. NULL: not installed for this family, or another version. */
static const struct backend *load_wrappers(void)
{
    Dl_info own;
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (!dlsym(library, families[i].symbol))
            continue;
        const char *slash = dladdr((void *)(uintptr_t)dispatch_resolve, &own) ? strrchr(own.dli_fname, '/') : NULL;
        if (!slash)
            return NULL;
        snprintf(path, sizeof path, "%.*s/%s", (int)(slash - own.dli_fname), own.dli_fname, families[i].wrappers);
        void *wrappers = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        const struct backend *backend = wrappers ? dlsym(wrappers, BACKEND_SYMBOL) : NULL;
        return backend && backend->version == BACKEND_VERSION ? backend : NULL;
    }
    return NULL;
}

static void set_jump(unsigned number, void *to)
{
    __atomic_store_n(&jump_table[number], (function)(uintptr_t)to, __ATOMIC_RELEASE);
}

/* The function of another profiling tool that comes after us in symbol lookup order; NULL: none. */
static void *find_tool(const char *name)
{
    void *next = dlsym(RTLD_NEXT, name), *own = dlsym(library, name);
    return next && own && next != own ? next : NULL;
}

static void fill_name(unsigned i, const char *name, void *real, void *wrapper, void *tool)
{
    if (is_question(name) && !real)
        real = (void *)(uintptr_t)answer_no;
    if (!real)
        real = (void *)(uintptr_t)return_error;
    set_jump(2 * i, tool ? tool : wrapper ? wrapper : real);
    set_jump(2 * i + 1, wrapper ? wrapper : real);
}

/* Both lists are sorted. */
static void fill(const struct backend *backend, bool only_counts)
{
    unsigned i = 0, at = 0;
    for (const char *name = jump_names; *name; name += strlen(name) + 1, i++) {
        void *real = own_symbol("P", name), *wrapper = NULL, *tool = find_tool(name);
        while (backend && at < backend->count && strcmp(backend->functions[at].name, name) < 0)
            at++;
        if (real && backend && at < backend->count && strcmp(backend->functions[at].name, name) == 0) {
            const struct backend_function *found = &backend->functions[at];
            *found->real = (function)(uintptr_t)real;
            wrapper = (void *)(uintptr_t)(only_counts ? found->counting : found->full);
            if (tool)
                tool = (void *)(uintptr_t)backend->wrap_tool(at, (function)(uintptr_t)tool, only_counts);
        }
        fill_name(i, name, real, wrapper, tool);
    }
}

static void fill_all(void)
{
    const char *mode = getenv(BACKEND_ENV_MODE);
    const struct backend *backend = mode && strcmp(mode, BACKEND_OFF) == 0 ? NULL : load_wrappers();
    bool only_counts = mode && strcmp(mode, BACKEND_COUNTS) == 0;
    if (backend)
        backend->ready(only_counts);
    fill(backend, only_counts);
}

/* The target while the table is not filled: no MPI is loaded, or another thread is filling it. */
static function uncounted(unsigned number)
{
    const char *name = jump_names;
    for (unsigned i = 0; i < number / 2; i++)
        name += strlen(name) + 1;
    void *real = library ? own_symbol("P", name) : dlsym(RTLD_NEXT, name);
    return real ? (function)(uintptr_t)real : is_question(name) ? (function)(uintptr_t)answer_no : (function)return_error;
}

/* The target of the call with this number. */
function dispatch_resolve(unsigned number)
{
    int saved = errno, expected = UNTOUCHED;
    if (__atomic_compare_exchange_n(&state, &expected, FILLING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        void *found = find_library();
        __atomic_store_n(&library, found, __ATOMIC_RELEASE);
        if (found)
            fill_all();
        __atomic_store_n(&state, found ? FILLED : UNTOUCHED, __ATOMIC_RELEASE);
    }
    function to = __atomic_load_n(&jump_table[number], __ATOMIC_ACQUIRE);
    if (!to)
        to = uncounted(number);
    errno = saved;
    return to;
}
