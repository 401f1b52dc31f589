/* truth: sick
 * what: the mixing buffers of an audio device are not freed when it is unplugged
 * real: QEMU before 2.9, CVE-2017-5525: the ac97 device leaks host memory at hot-unplug
 * expect: leak-lost leak-growth
 * link: glib-2.0 */
#include "truth.h"
#include <glib.h>

struct device {
    char *name;
    short *mix;
    char registers[256];
};

NOINLINE static void audio_open_out(struct device *device)
{
    device->mix = g_malloc0(3000); /* guilty: audio_open_out */
}

NOINLINE static struct device *ac97_realize(int i)
{
    struct device *device = g_malloc0(sizeof *device);
    device->name = g_strdup_printf("ac97.%d", i);
    audio_open_out(device);
    return device;
}

NOINLINE static void ac97_unplug(struct device *device)
{
    g_free(device->name);
    g_free(device); /* and not the buffer */
}

int main(void)
{
    for (int i = 0; i < 6000; i++) {
        ac97_unplug(ac97_realize(i));
        pace(i, 12);
    }
    return 0;
}
