/* Memory of code that is not needed any more. */
#ifndef SONDE_BASE_CODE_PAGES_H
#define SONDE_BASE_CODE_PAGES_H

/* Releases the pages of code and constants, those of the libraries too. They stay in the page cache, and those that are still
 * needed are mapped again when they are touched, 64 KB at a time. For the start of a phase that uses other code, or that
 * needs memory. */
void code_pages_release(void);

#endif
