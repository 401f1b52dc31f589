/* Static variables of which few pages are used: they stand behind all others, so that the small
 * ones share a page. In a library that is loaded into every process of a session a page costs a
 * fault for each process.
 *
 * The linker has to sort (-Wl,--sort-section=name, recorder/CMakeLists.txt). Without that the
 * variables are where they were. */
#ifndef TIDEMARK_BASE_LARGE_STATIC_H
#define TIDEMARK_BASE_LARGE_STATIC_H

#define LARGE_STATIC __attribute__((section(".bss.z_large")))

#endif
