/* Memory over time, ready to plot: the interface of malloc_count's class MemProfile (Timo Bingmann,
 * 2013), with libtidemark-malloc-count underneath.
 *
 *     MemProfile profile("memprofile.txt", 0.1, 1024);
 *
 * While it lives, heap and stack are written, relative to what they were when it was made: a line
 * of seconds and bytes whenever 0.1 s have passed or memory has changed by more than 1024 bytes,
 * with the maximum since the line before. A line is in the file at once, so that a program that
 * ends by exit(), abort() or a signal, or never deletes the object, loses none. The child of a fork
 * writes to the same file. With a function's name lines read "func=NAME ts=SECONDS mem=BYTES" and
 * are added to the file, so that several profiles share it.
 *
 *     gnuplot> plot "memprofile.txt" using 1:2 with lines
 *
 * One at a time, as malloc_count has one callback. Threads may allocate meanwhile; stack is that of
 * the thread that made the object. */
#ifndef TIDEMARK_MEMPROFILE_H
#define TIDEMARK_MEMPROFILE_H

#include <stddef.h>
#include <stdio.h> /* this and the next for programs that have them by the original's header */
#include <sys/time.h>
#include "malloc_count.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the class is made of, for C programs too. `stack_base`: where stack is counted from. NULL if
 * the file cannot be written: a sentence is on standard error, and the others take NULL. */
struct tidemark_memprofile;
extern struct tidemark_memprofile *
tidemark_memprofile_open(const char *filepath, double time_resolution, size_t size_resolution,
                         const char *funcname, const void *stack_base);
/* A line of the caller's own: seconds since the beginning, and bytes. */
extern void tidemark_memprofile_output(struct tidemark_memprofile *profile, double seconds,
                                       size_t bytes);
/* An empty line: a break in gnuplot's curve. */
extern void tidemark_memprofile_insertnull(struct tidemark_memprofile *profile);
/* The file, by lines: what is written there stands between the profile's own. NULL if there is none. */
extern FILE *tidemark_memprofile_stream(struct tidemark_memprofile *profile);
/* Writes the last line and ends it. */
extern void tidemark_memprofile_close(struct tidemark_memprofile *profile);

#ifdef __cplusplus
}

class MemProfile
{
  public:
    /* Seconds, bytes. */
    explicit MemProfile(const char *filepath, double time_resolution = 0.1,
                        size_t size_resolution = 1024, const char *funcname = NULL)
        : m_base_ts(timestamp()), m_base_mem(malloc_count_current()), m_funcname(funcname),
          profile_(tidemark_memprofile_open(filepath, time_resolution, size_resolution, funcname,
                                            __builtin_frame_address(0))),
          m_file(tidemark_memprofile_stream(profile_))
    {
    }
    ~MemProfile()
    {
        tidemark_memprofile_close(profile_);
    }

    void insertnull()
    {
        tidemark_memprofile_insertnull(profile_);
    }

  protected:
    /* For classes that extend this one, by the names of the original. */
    double m_base_ts;       /* timestamp() at the beginning */
    size_t m_base_mem;      /* malloc_count_current() then */
    const char *m_funcname; /* NULL: none */

  private:
    struct tidemark_memprofile *profile_;

  protected:
    FILE *m_file; /* for lines of its own, such as "# phase 2"; NULL: the file cannot be written */

    /* Seconds. */
    static double timestamp()
    {
        struct timeval tv;
        gettimeofday(&tv, NULL);
        return double(tv.tv_sec) + double(tv.tv_usec) / 1e6;
    }
    /* A line more: of the time `ts`, which is one of timestamp(), and so many bytes. */
    void output(double ts, size_t mem)
    {
        tidemark_memprofile_output(profile_, ts - m_base_ts, mem);
    }

  private:
    MemProfile(const MemProfile &);
    MemProfile &operator=(const MemProfile &);
};
#endif

#endif
