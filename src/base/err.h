/* How a call can fail. Results are returned by pointer. Only the caller that decides what to do about an error logs it. */
#ifndef SONDE_BASE_ERR_H
#define SONDE_BASE_ERR_H

enum err {
    OK = 0,
    AGAIN,   /* not now, try later */
    ABSENT,  /* there is no such hardware, file or feature on this node */
    GONE,    /* it vanished between two reads: normal, not logged */
    DENIED,
    FULL,    /* disk, buffer or table at its maximum */
    CORRUPT, /* input that cannot be parsed */
    IO,
    NOMEM,
    USAGE,   /* invalid argument, of the caller or the user */
    NOFILES, /* out of file descriptors */
};

/* Never NULL; a short lower-case phrase for messages: "permission denied". */
const char *err_text(enum err err);

/* Maps an errno value; 0 gives OK, others that are not listed give IO. */
enum err err_from_errno(int number);

#endif
