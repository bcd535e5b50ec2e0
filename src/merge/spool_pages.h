/* Limits the resident memory of the mapped spool. Pages that were read count as ours until released with MADV_DONTNEED;
 * they stay in the page cache. */
#ifndef SONDE_MERGE_SPOOL_PAGES_H
#define SONDE_MERGE_SPOOL_PAGES_H

#include "base/buf.h"

#define SPOOL_WINDOW (64u << 10)
#define SPOOL_WINDOWS_MIN 8

struct spool_pages {
    struct bytes mapped;  /* empty if the spool is not mapped */
    size_t window[2];     /* last two that were read; the kernel maps about this much around each page fault */
    size_t touched, most; /* in windows */
};

/* spool: mapped. The limit grows with the spool's size: a large spool yields many processes, which need more memory
 * anyway. */
void spool_pages_init(struct spool_pages *pages, struct bytes spool);

void spool_pages_release(struct spool_pages *pages);

/* Call before reading at this offset. Releases all pages when the limit is reached. */
static inline void spool_pages_touch(struct spool_pages *pages, size_t at)
{
    size_t window = at / SPOOL_WINDOW;
    if (window == pages->window[0] || window == pages->window[1])
        return;
    pages->window[1] = pages->window[0];
    pages->window[0] = window;
    if (++pages->touched >= pages->most)
        spool_pages_release(pages);
}

#endif
