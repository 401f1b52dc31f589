/* A module whose calls are bound when they are first made: by the linker's usual stubs, and by
 * those for processors that check branch targets. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

double plugin_step(const char *number, char *room);

double plugin_step(const char *number, char *room)
{
    double value = strtod(number, NULL);
    strcpy(room, number);
    return cbrt(value) + (double)labs((long)value) + (double)strtoul(room, NULL, 16);
}
