/* Releases pages of the mapped spool that were read. */
#include "merge/spool_pages.h"

#include <sys/mman.h>

void spool_pages_init(struct spool_pages *pages, struct bytes spool)
{
    size_t part = spool.size / SPOOL_WINDOW / 8;
    *pages = (struct spool_pages){ .mapped = spool, .most = part > SPOOL_WINDOWS_MIN ? part : SPOOL_WINDOWS_MIN };
}

void spool_pages_release(struct spool_pages *pages)
{
    if (pages->mapped.size)
        madvise((void *)pages->mapped.data, pages->mapped.size, MADV_DONTNEED);
    pages->touched = 0;
}
