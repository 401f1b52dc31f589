/* A database in a file that has no name (base/new_file.h). If its process is killed, the file goes
 * with the process.
 *
 * SQLite opens files by name. Between both calls this thread may open the name that unnamed_begin()
 * returns: SQLite gets a copy of the descriptor. No file has that name. Inside the room. */
#ifndef TIDEMARK_PROFILE_UNNAMED_H
#define TIDEMARK_PROFILE_UNNAMED_H

/* Valid until unnamed_end(). */
const char *unnamed_begin(int fd);
void unnamed_end(void);

#endif
