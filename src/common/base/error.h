/* The last error of a thread, as one sentence.
 *
 * A function that fails returns -errno, and the place that first saw the error has set the
 * sentence. Callers return the number on and leave the sentence alone, or set a better one. A
 * caller that shows the sentence reads it before the thread calls anything else that can fail. */
#ifndef TIDEMARK_BASE_ERROR_H
#define TIDEMARK_BASE_ERROR_H

/* Keeps the sentence and returns `error` (a negative errno). Arguments may be the
 * sentence that error_text() gave. */
int error_set(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The thread's last sentence; "" if there is none. Valid until the thread's next error_set(). */
const char *error_text(void);

#endif
