/* Program metrics on /metrics, in the text format of Prometheus or OpenMetrics. From the registry, in whose order they
 * are: a scrape of 100,000 metrics only copies strings and formats numbers. */
#ifndef SONDE_API_PROGRAM_PAGE_H
#define SONDE_API_PROGRAM_PAGE_H

#include "api/metrics_format.h"
#include "appmetrics/registry.h"
#include "model/view.h"

struct program_page {
    enum metrics_format format;
    uint32_t viewer;    /* whose jobs are exposed; VIEW_ALL: everybody's; VIEW_NODE: nobody's */
    bool has_tau_names; /* also tau's names for what our probes count */
    bool is_node_only;  /* as tau's proxy: only sums of the node; of gauges the mean, as for clients of tau */
};

/* Adds the families, without the end of the page. Takes the registry's lock. */
void program_page_write(struct buf *out, struct registry *registry, const struct program_page *page);

/* May the viewer see values of the scope? */
bool program_page_shows(uint32_t viewer, const struct scope *scope);

#endif
