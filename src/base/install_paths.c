/* The way from /proc/self/exe to the files that were installed or built with it. */
#include "base/install_paths.h"

#include "base/log.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define PROBE_NAME "libsonde-process.so"
#define MPI_PROBE_NAME "libsonde-mpi.so"
#define CALLS_PROBE_NAME "libsonde-calls.so"

/* From the folder of the executable; SONDE_LIB_FROM_BIN is told by the build. */
static const char *const folders[] = { ".", SONDE_LIB_FROM_BIN, "../lib/sonde", "../probe", "../probe/mpi", "../modules" };

enum err self_path(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size);
    if (length >= 0) {
        if ((size_t)length >= size)
            return FULL;
        path[length] = '\0';
        return OK;
    }
    /* No /proc: the kernel also told the path that was given to execve. */
    const char *given = (const char *)getauxval(AT_EXECFN);
    char whole[PATH_MAX];
    if (!given || !realpath(given, whole))
        return ABSENT;
    return (size_t)snprintf(path, size, "%s", whole) < size ? OK : FULL;
}

/* The path without "..", when there is a file that can be read. */
static enum err find(const char *folder, const char *from, const char *name, char *path, size_t size)
{
    char joined[2 * PATH_MAX + 256], whole[PATH_MAX];
    snprintf(joined, sizeof joined, "%s%s%s/%s", from[0] == '/' ? "" : folder, from[0] == '/' ? "" : "/", from, name);
    if (!realpath(joined, whole) || access(whole, R_OK) != 0)
        return ABSENT;
    return (size_t)snprintf(path, size, "%s", whole) < size ? OK : FULL;
}

enum err self_find(const char *name, char *path, size_t size)
{
    char folder[PATH_MAX];
    enum err err = self_path(folder, sizeof folder);
    if (err)
        return err;
    *strrchr(folder, '/') = '\0';
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        err = find(folder, folders[i], name, path, size);
        if (err != ABSENT)
            return err;
    }
    return ABSENT;
}

enum err self_find_module(const char *name, char *path, size_t size)
{
    const char *folder = secure_getenv("SONDE_MODULES");
    return folder && *folder ? find(folder, ".", name, path, size) : self_find(name, path, size);
}

/* One that says nothing has none of it. */
static void share_log(void *library)
{
    void (*share)(struct log_state *shared);
    *(void **)&share = dlsym(library, "sonde_log_share");
    if (share)
        share(log_shared());
}

enum err self_load_module(const struct self_module *module, const void **constant, char *why, size_t why_size)
{
    char path[PATH_MAX];
    const char *hint = module->hint ? module->hint : "";
    if (self_find_module(module->file, path, sizeof path)) {
        snprintf(why, why_size, "%s is not installed%s%s", module->file, *hint ? ": " : "", hint);
        return ABSENT;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, why_size, "%s cannot be loaded: %s", module->file, dlerror());
        return ABSENT;
    }
    *constant = dlsym(library, module->symbol);
    if (*constant && !memcmp(*constant, module->marks, module->mark_count * sizeof *module->marks)) {
        share_log(library);
        return OK;
    }
    snprintf(why, why_size, "%s is of another version of Sonde: install both together", path);
    dlclose(library);
    return CORRUPT;
}

enum err self_find_mpi_probe(char *path, size_t size)
{
    return self_find(MPI_PROBE_NAME, path, size);
}

enum err self_find_calls_probe(char *path, size_t size)
{
    return self_find(CALLS_PROBE_NAME, path, size);
}

enum err self_find_probe(char *path, size_t size)
{
    return self_find(PROBE_NAME, path, size);
}

/* Of a segment that can be written the pages are our own, and would come back as they stand in the file. */
static int forget_code_of(struct dl_phdr_info *object, size_t size, void *nothing)
{
    (void)size, (void)nothing;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t begin = (object->dlpi_addr + part->p_vaddr) & -page;
        uintptr_t end = object->dlpi_addr + part->p_vaddr + part->p_memsz;
        if (part->p_type == PT_LOAD && !(part->p_flags & PF_W))
            madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
    return 0;
}

void self_forget_code(void)
{
    dl_iterate_phdr(forget_code_of, NULL);
}
