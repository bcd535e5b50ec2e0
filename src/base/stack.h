/* A larger stack for our own functions where the stack limit, which is meant for the monitored command, is small. */
#ifndef SONDE_BASE_STACK_H
#define SONDE_BASE_STACK_H

/* Calls function, on a separate stack if the limit is too small for us, and returns its result. Not reentrant. */
int stack_call(int (*function)(int argc, char **argv), int argc, char **argv);

#endif
