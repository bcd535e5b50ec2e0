/* Writes the MessagePack of Colmet's Rust nodes, for its own collectors: colmet/collector/main.py of 2019, and
 * colmet-collector since 2020. The generation since 2022 has no collector. */
#ifndef SONDE_COMPAT_COLMET_RUST_WRITER_H
#define SONDE_COMPAT_COLMET_RUST_WRITER_H

#include "compat/colmet/rows.h"

enum colmet_rust_generation { COLMET_RUST_2019, COLMET_RUST_2020 };

struct colmet_rust_job;

/* Starts zeroed. Memory is reused. */
struct colmet_rust_writer {
    struct colmet_rust_job *jobs;
    size_t count, capacity;
};

/* Adds a message with the jobs of batch to out: memory and CPU quota from the set cgroup, perf events and what came from Rust
 * nodes from its rows (compat/colmet/rows.h). Nothing, if there are no jobs. NOMEM. */
enum err colmet_rust_write(struct colmet_rust_writer *writer, enum colmet_rust_generation generation, const struct batch *batch,
                           const struct colmet_row *rows, size_t row_count, struct buf *out);

void colmet_rust_writer_clear(struct colmet_rust_writer *writer);

#endif
