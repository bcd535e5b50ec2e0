/* Which processes of the job carry the probe, and which do not: the dark ones. Of what those execute only /proc can tell,
 * while it is there, so that sonde run must be woken by each exec as long as one of them is alive; it sleeps otherwise.
 *
 * Who is about to execute a program that will not carry the probe rings a bell. Where nobody rings (another root, a call
 * past libc), the spool tells a little later: a process that executed something and is still there without a word of the
 * probe is dark, and one of which the probe has spoken is not. */
#ifndef SONDE_RUN_UNPROBED_H
#define SONDE_RUN_UNPROBED_H

#include "run/members.h"
#include "spool/probe_env.h"

#define DARK_ASKED_MAX 1024
#define DARK_RINGS_MAX 256

/* It executed something, or was made by one that is dark; will the probe speak? */
struct dark_asked {
    uint32_t pid, copy_of; /* copy_of: it was made by that one and has executed nothing since; 0: it has */
    uint64_t since_ns;
    uint64_t before_ns; /* when it executed something the time before */
};

struct dark {
    int bell_fd;   /* -1: there is no probe in this run, everybody is dark */
    int spool_fd;  /* borrowed */
    char path[4096 + 8];
    uint64_t at;   /* where the next look at the spool begins */
    uint64_t end;  /* how much may be: see dark_mark */
    uint64_t old_end; /* the same of the look before */
    struct dark_asked asked[DARK_ASKED_MAX];
    size_t count;
    struct probe_ring rings[DARK_RINGS_MAX]; /* heard, and not heeded yet */
    size_t ring_count;
};

/* Makes the bell at path. spool_fd, to read from, is borrowed. */
enum err dark_open(struct dark *dark, const char *path, int spool_fd);
void dark_close(struct dark *dark);

/* Before the kernel's events are read: of every image that is in the spool by now they will have told, so that it finds
 * its question. Who executes it may have told all of it before it was there; so what came since the mark before this one is
 * kept for questions to come. */
void dark_mark(struct dark *dark);

/* Who rang was made before: the bell is listened to before the forks are read, and heeded after. Who is not known then is
 * kept, unless all forks were read. */
void dark_hear(struct dark *dark);
void dark_heed(struct dark *dark, struct members *members, bool all_known);

/* A member executed something: it may carry the probe from now on, or no longer. is_copy: it was made by one that is
 * dark. */
void dark_ask(struct dark *dark, struct members *members, struct member *member, uint64_t time_ns, bool is_copy);

/* Looks into the spool for answers, as far as was marked. found: called for each that turns out to be dark. */
void dark_look(struct dark *dark, struct members *members, uint64_t now_ns,
               void (*found)(void *context, struct member *member), void *context);

#endif
