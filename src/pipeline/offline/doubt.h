/* The sentence about names that the trace does not have. Inside the room. */
#ifndef TIDEMARK_OFFLINE_DOUBT_H
#define TIDEMARK_OFFLINE_DOUBT_H

#define OFFLINE_DOUBT                                                                              \
    "the trace ends without the recording's names: they come from the files that are on this "     \
    "machine now, where these are still the recorded ones"

#endif
