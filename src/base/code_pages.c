/* madvise over the read-only segments of all loaded objects. */
#include "base/code_pages.h"

#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Pages of a writable segment are private copies, whose content would be lost. */
static int release_object(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size, (void)unused;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t begin = (object->dlpi_addr + segment->p_vaddr) & -page;
        uintptr_t end = object->dlpi_addr + segment->p_vaddr + segment->p_memsz;
        if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W))
            madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
    return 0;
}

void code_pages_release(void)
{
    dl_iterate_phdr(release_object, NULL);
}
