/* Marks large static variables of which few pages are used. They are placed behind all others, so
 * that the small variables share a page. The library is loaded into every process of a session, and
 * each page that is touched costs a page fault in each process.
 *
 * The linker has to sort sections (-Wl,--sort-section=name, recorder/CMakeLists.txt). Without that
 * the mark changes nothing. */
#ifndef TIDEMARK_BASE_LARGE_STATIC_H
#define TIDEMARK_BASE_LARGE_STATIC_H

#define LARGE_STATIC __attribute__((section(".bss.z_large")))

#endif
