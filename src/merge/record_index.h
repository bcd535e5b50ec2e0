/* The index of a spool: one small entry per record that speaks of a process, chained by pid in the order of time. What
 * a record says beyond that is read from the spool again when it is needed, so that the index of many processes stays
 * small. */
#ifndef SONDE_MERGE_RECORD_INDEX_H
#define SONDE_MERGE_RECORD_INDEX_H

#include "spool/frame.h"

#define NONE UINT32_MAX
#define EVENTS_WINDOW (64u << 10)
#define EVENTS_WINDOWS_LEAST 8

enum event_flag {
    EVENT_OF_THREAD = 1, /* tid is not the pid */
    EVENT_COPIED = 2,    /* exec: the image before was its own */
    EVENT_LAST = 4,      /* taskstats: of the last thread of its process */
    EVENT_STOP = 8,      /* wait: the child was stopped or went on, it did not end */
    EVENT_ON_EXEC = 32,  /* perf: of the image that the exec record of the same time speaks of */
    EVENT_LATE = 64,     /* perf: opened when the image was there already */
    EVENT_WHOLE = 16,    /* exec: it tells all of the image to come, which carries the probe and tells nothing itself */
};

struct event {
    uint64_t time_ns;
    uint64_t at : 44, kind : 8, flags : 12; /* at: of the frame in the spool */
    uint32_t next;                          /* of the same pid, later of the same life; NONE: the last */
    uint32_t who; /* the tid; of wait the waiter; of fork, spawn, image, exec and the kernel's process fork the ppid */
};

/* A pid and all that was said of it, by however many processes that had it one after the other. */
struct pid {
    uint32_t pid;
    uint32_t first, last;  /* events */
    uint32_t life, lives;  /* its lives, in the order of time: merge/process_instance.c */
    uint32_t unseen;       /* a life of which only its children told; NONE */
};

/* Pages of a mapped spool that were looked at count as ours until we say that we do not need them; they stay in the
 * kernel's cache all the same. */
struct events_pages {
    struct bytes mapped; /* none: the spool is not mapped */
    size_t window[2];    /* that were touched last; the kernel maps this much around each touch */
    size_t touched, most; /* windows */
};

/* spool: mapped. Of a large one more stays, because the processes that come of it need much more. */
void events_pages_init(struct events_pages *pages, struct bytes spool);

void events_pages_forget(struct events_pages *pages);

/* Notes that this place of the spool was looked at, and forgets when they were many. */
static inline void events_pages_touch(struct events_pages *pages, size_t at)
{
    size_t window = at / EVENTS_WINDOW;
    if (window == pages->window[0] || window == pages->window[1])
        return;
    pages->window[1] = pages->window[0];
    pages->window[0] = window;
    if (++pages->touched >= pages->most)
        events_pages_forget(pages);
}

struct events {
    struct bytes spool;
    struct events_pages *pages;
    struct event *list;
    uint32_t count, room;
    struct pid *pids; /* in the order in which they were first seen */
    uint32_t pid_count, pid_room;
    uint32_t *table;  /* hash: pid to its place in pids */
    uint32_t table_size;
    uint32_t threads; /* events of threads that are not the main one: a bound for their number */
    uint32_t perfs;   /* perf records */
    uint64_t last_ns; /* the latest time of all */
    uint64_t boot_ns; /* the clock at start_ticks 0, at most this; UINT64_MAX: not known */
};

/* pages is borrowed until events_clear. */
void events_init(struct events *events, struct bytes spool, struct events_pages *pages);
void events_clear(struct events *events);

/* Takes a record of the spool in. Kinds that do not speak of a process are left out. CORRUPT: not a record that can be
 * read; NOMEM, FULL: too many. */
enum err events_add(struct events *events, enum record_kind kind, struct bytes body);

/* NULL when nothing was said of it. Valid until the next events_add or events_pid. */
struct pid *events_find(const struct events *events, uint32_t pid);

/* Adds it where it is missing. NULL when memory ran out. */
struct pid *events_pid(struct events *events, uint32_t pid);

/* The record's body, borrowed from the spool. */
struct bytes event_body(const struct events *events, const struct event *event);

/* The numbers at the beginning of any of these records, before its counters; what a kind does not have is 0. */
struct event_numbers {
    uint64_t pid, ppid, tid, pgid, sid, uid, start_ticks, time_ns, start_ns, end_ns, alive, copied, exit_code, threads,
        waiter, status, stat_known, process_ended, opened_ns, since;
};

/* false: the body ends too early. */
bool event_numbers(enum record_kind kind, struct bytes body, struct event_numbers *numbers);
bool event_read(const struct events *events, const struct event *event, struct event_numbers *numbers);

/* The texts before a record's counters, borrowed from the spool; what a kind does not have is empty. */
struct event_texts {
    struct bytes path, args, cwd, tags, name, counts;
};

void event_texts(const struct events *events, const struct event *event, struct event_texts *texts);

/* The CPU time in the first counters of an exec or wait record; 0 when it has none. */
uint64_t event_cpu_us(const struct events *events, const struct event *event);

/* When a process with these start_ticks began, give or take 10 ms; 0: cannot be told. */
uint64_t events_ticks_ns(const struct events *events, uint64_t ticks);

#endif
