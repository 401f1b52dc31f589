/* A browser's reader has one thread: nobody waits, and what is done once is done by the first who
 * asks. */
#ifndef TIDEMARK_VIEWER_PTHREAD_H
#define TIDEMARK_VIEWER_PTHREAD_H

#define __NEED_pthread_mutex_t
#define __NEED_pthread_once_t
#define __NEED_pthread_key_t
#define __NEED_pthread_t
#include <bits/alltypes.h>

#define PTHREAD_MUTEX_INITIALIZER                                                                  \
    {                                                                                              \
        {                                                                                          \
            {                                                                                      \
                0                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
#define PTHREAD_ONCE_INIT 0

/* Of writers, which are not linked. */
int pthread_key_create(pthread_key_t *key, void (*end)(void *));
void *pthread_getspecific(pthread_key_t key);
int pthread_setspecific(pthread_key_t key, const void *value);

static inline int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    return (void)mutex, 0;
}
static inline int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    return (void)mutex, 0;
}
static inline int pthread_once(pthread_once_t *once, void (*run)(void))
{
    if (!*once) {
        *once = 1;
        run();
    }
    return 0;
}

#endif
