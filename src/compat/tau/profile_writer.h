/* The dir of tau's profiles, kept by a thread of its own: a slow disk stops neither ticks nor the gateway. What the gateway
 * hands over becomes DIR/JOB-HOST.PID.taumetric at once; the leader merges these files, also those of workers on other nodes
 * that share the dir, into DIR/profiles/J/JOB.profile every few seconds. */
#ifndef SONDE_COMPAT_TAU_PROFILE_WRITER_H
#define SONDE_COMPAT_TAU_PROFILE_WRITER_H

#include "compat/tau/profile.h"

struct tau_profile_writer;

struct tau_profile_writer_settings {
    const char *dir; /* made when it is not there; copied */
    bool is_worker;     /* only writes dumps: another node merges */
};

/* ABSENT, DENIED, FULL, IO: the dir cannot be used. */
enum err tau_profile_writer_open(struct tau_profile_writer **profiles, const struct tau_profile_writer_settings *settings);

/* Writes what is left, for at most 10 s, and ends the thread. NULL is fine. */
void tau_profile_writer_close(struct tau_profile_writer **profiles);

/* For the gateway: the last program of a job has gone. Takes the metrics over (profile is empty afterwards), sets the end to now
 * unless it is later, never blocks, may be called from any thread. A job without an id, or without metrics, is passed over.
 * FULL: so much waits for the disk that it was dropped. profiles NULL: nobody wants them, OK. */
enum err tau_profile_writer_put_take(struct tau_profile_writer *profiles, struct tau_profile *profile);

#define TAU_PROFILE_FILE_NAME 65

/* A job's id as the name of a file: letters, digits, '_', '-', '+', ',', '=', '@', and '.' but at the beginning, so that it never
 * leaves its dir; others become %2F and so on, so that two jobs never share one. "" when there is none. */
void tau_profile_file_name(char name[TAU_PROFILE_FILE_NAME], const char *job);

#endif
