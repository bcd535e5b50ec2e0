/* Runs that users have posted (POST /run) and that wait to be sent, as copies in a directory of their own: data of users
 * has other limits than samples of the node, and enters the journal only piece by piece while that is nearly empty, so
 * that it never takes the place of samples. Survives a restart. */
#ifndef SONDE_AGENT_RUN_QUEUE_H
#define SONDE_AGENT_RUN_QUEUE_H

#include "agent/sender.h"

#define RUN_QUEUE_SHARE 4         /* one user may have a quarter of the limit */
#define RUN_QUEUE_JOURNAL_SHARE 2 /* runs are sent while less than half of the journal is used */

struct run_queue;

/* dir is created with the first run. bytes: limit for all users together. */
enum err run_queue_open(struct run_queue **queue, const char *dir, uint64_t bytes);
void run_queue_close(struct run_queue **queue); /* the files stay */

/* Queues a file of this size, which may be removed then: it is copied at once, or, if it is large, in the next seconds and at
 * the latest by run_queue_close. A run of the same user and name is replaced. FULL: the user or all users have reached their
 * limit; only the latter applies to root. */
enum err run_queue_add(struct run_queue *queue, uint32_t uid, const char *name, int fd, uint64_t size);

/* Moves pieces to the journal of sender as long as it has capacity for them, the users by turns; drops runs older than
 * age_ns. Call it about once a second. */
void run_queue_send(struct run_queue *queue, struct sender *sender, uint64_t age_ns);

#endif
