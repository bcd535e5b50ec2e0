/* The processes of an attachment, from when they are first seen to when they end or are let go: who they are, whose children,
 * what they have used meanwhile, how they ended. What becomes of them goes into the spool as records. Told either by the tracer,
 * in its process, or by ticks, where the kernel counts and tells nobody of processes. */
#ifndef SONDE_WATCH_ATTACH_LIVES_H
#define SONDE_WATCH_ATTACH_LIVES_H

#include "sample/children.h"
#include "sample/tracer.h"
#include "watch/unseen.h"
#include "watch/writer.h"

/* Zeroed, but for the first two. */
struct attach_lives {
    struct unseen_reader *reader; /* borrowed */
    struct writer *writer;        /* borrowed; flushed after each of the calls below */
    struct attach_life *list;
    size_t count, room;
};

void attach_lives_clear(struct attach_lives *lives);

/* For the tracer; borrows lives. */
struct tracer_lives attach_lives_tracer(struct attach_lives *lives);

/* The processes that are there now, those of the first time being older than the attachment. Who was there before and is not any
 * more has ended: how is asked of the kernel, which knows it from Linux 6.15 on. */
void attach_lives_tick(struct attach_lives *lives, const struct pidlist *pids);

/* What those that live on have used; nothing comes behind it. */
void attach_lives_over(struct attach_lives *lives);

/* How a process ended that is being waited for or, by its pidfd, was. False: not known. Status as from wait4. */
bool attach_lives_status(const struct attach_lives *lives, pid_t pid, int pidfd, int *status);

#endif
