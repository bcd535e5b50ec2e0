/* The folder of tau's profiles, kept by a thread of its own: a slow disk stops neither ticks nor the gateway. What the gateway
 * hands over becomes DIR/JOB-HOST.PID.taumetric at once; the leader merges these files, also those of workers on other nodes
 * that share the folder, into DIR/profiles/J/JOB.profile every few seconds. */
#ifndef SONDE_COMPAT_TAU_PROFILE_WRITER_H
#define SONDE_COMPAT_TAU_PROFILE_WRITER_H

#include "compat/tau/profile.h"

struct tau_profiles;

struct tau_profiles_settings {
    const char *folder; /* made when it is not there; copied */
    bool is_worker;     /* only writes dumps: another node merges */
};

/* ABSENT, DENIED, FULL, IO: the folder cannot be used. */
enum err tau_profiles_open(struct tau_profiles **profiles, const struct tau_profiles_settings *settings);

/* Writes what is left, for at most 10 s, and ends the thread. NULL is fine. */
void tau_profiles_close(struct tau_profiles **profiles);

/* For the gateway: the last program of a job has gone. Takes the metrics over (profile is empty afterwards), sets the end to now
 * unless it is later, never blocks, may be called from any thread. A job without an id, or without metrics, is passed over.
 * FULL: so much waits for the disk that it was dropped. profiles NULL: nobody wants them, OK. */
enum err tau_profiles_put_take(struct tau_profiles *profiles, struct tau_profile *profile);

#define TAU_PROFILES_NAME 65

/* A job's id as the name of a file: letters, digits, '_', '-', '+', ',', '=', '@', and '.' but at the beginning, so that it never
 * leaves its folder; others become %2F and so on, so that two jobs never share one. "" when there is none. */
void tau_profiles_file_name(char name[TAU_PROFILES_NAME], const char *job);

#endif
