/* What programs tell, on /metrics: families of their own names, in Prometheus's text format or in OpenMetrics. From the table of
 * programs; a scrape of 100,000 metrics is copying and figures, nothing is sorted or looked up. */
#ifndef SONDE_API_PROGRAM_PAGE_H
#define SONDE_API_PROGRAM_PAGE_H

#include "api/metrics_format.h"
#include "appmetrics/registry.h"
#include "model/view.h"

struct program_page {
    enum metrics_format format;
    uint32_t viewer;    /* whose jobs are shown; VIEW_ALL: everybody's; VIEW_NODE: nobody's */
    bool has_tau_names; /* also the names of tau for what our own probes count */
};

/* Adds the families, without the end of the page. Takes the table's lock. */
void program_page_write(struct buf *out, struct registry *registry, const struct program_page *page);

/* May whoever looks see what is in the scope? */
bool program_page_shows(uint32_t viewer, const struct scope *scope);

#endif
