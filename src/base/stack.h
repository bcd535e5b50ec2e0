/* Room for our own calls where the stack is small: its limit is meant for the command that we run, and is left as it is. */
#ifndef SONDE_BASE_STACK_H
#define SONDE_BASE_STACK_H

/* What function returns: called on a stack of our own when the limit of the program's is less than that, else directly. Not
 * within itself. */
int stack_call(int (*function)(int argc, char **argv), int argc, char **argv);

#endif
