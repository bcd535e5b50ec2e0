/* A library with nothing in it: what the loader takes for any that is preloaded. */
extern int empty_library;
int empty_library;
