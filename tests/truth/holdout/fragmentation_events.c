/* truth: sick
 * what: of each image that is shown a thumbnail of 200 bytes is kept, right behind its pixels
 * expect: fragmentation */
#include "truth.h"

#define IMAGES 1200

static char *thumbnails[IMAGES];

NOINLINE static void thumbnail_keep(int i, const char *pixels)
{
    thumbnails[i] = malloc(200); /* guilty: thumbnail_keep */
    memcpy(thumbnails[i], pixels, 200);
    use(thumbnails[i]);
}

NOINLINE static void gallery_show(void)
{
    static char *images[IMAGES];
    for (int i = 0; i < IMAGES; i++) {
        images[i] = malloc(50000);
        memset(images[i], i, 50000);
        thumbnail_keep(i, images[i]);
    }
    for (int i = 0; i < IMAGES; i++)
        free(images[i]);
}

int main(void)
{
    gallery_show();
    for (int i = 0; i < 25; i++) {
        char *event = malloc(500);
        use(event);
        pause_ms(80);
        free(event);
    }
    return thumbnails[7] == NULL || thumbnails[7][9] == 1;
}
