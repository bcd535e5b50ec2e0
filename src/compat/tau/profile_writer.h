/* Writes tau's profiles of jobs in a thread of its own, so that a slow disk delays neither ticks nor clients. What it
 * gets becomes DIR/JOB-HOST.PID.taumetric at once; every few seconds the leader merges these files, also those of
 * workers on other nodes that share the directory, into DIR/profiles/J/JOB.profile. */
#ifndef SONDE_COMPAT_TAU_PROFILE_WRITER_H
#define SONDE_COMPAT_TAU_PROFILE_WRITER_H

#include "compat/tau/profile.h"

struct tau_profile_writer;

struct tau_profile_writer_settings {
    const char *dir; /* created if needed; copied */
    bool is_worker;     /* only writes dumps: another node is the leader */
};

/* ABSENT, DENIED, FULL, IO: the directory cannot be used. */
enum err tau_profile_writer_open(struct tau_profile_writer **profiles, const struct tau_profile_writer_settings *settings);

/* Writes what is left, for at most 10 s, and stops the thread. NULL is fine. */
void tau_profile_writer_close(struct tau_profile_writer **profiles);

/* The last program of a job has ended. Takes the metrics over (profile is empty then), sets the end to now unless it
 * is later. Never blocks; any thread may call it. A job without an id or without metrics is ignored. FULL: dropped,
 * since too much waits for the disk. NULL: OK, nothing is written. */
enum err tau_profile_writer_put_take(struct tau_profile_writer *profiles, struct tau_profile *profile);

#define TAU_PROFILE_FILE_NAME 65

/* The id of a job as a file name: letters, digits, '_', '-', '+', ',', '=', '@', and '.' except at the beginning;
 * other characters become %2F and so on, so that no two jobs share a name and none leaves the directory. "" if there
 * is no id. */
void tau_profile_file_name(char name[TAU_PROFILE_FILE_NAME], const char *job);

#endif
