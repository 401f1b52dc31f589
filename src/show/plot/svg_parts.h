/* The parts of pictures in SVG (svg.c), for other files of this room. */
#ifndef TIDEMARK_PLOT_SVG_PARTS_H
#define TIDEMARK_PLOT_SVG_PARTS_H

#include "plot/plot.h"

enum { PLOT_SVG_WIDTH = 960, PLOT_SVG_RIGHT = 28, PLOT_SVG_TOP = 66, PLOT_SVG_LEFT = 92 };

/* The document's beginning: size, styles, title and note. */
void plot_svg_add_head(struct strbuf *out, const struct chart *chart, size_t height);
/* A text whose end, start or middle is at (x, y); cut where it is longer than `most` columns. */
void plot_svg_add_text_cut(struct strbuf *out, double x, double y, const char *attributes,
                           const char *text, size_t most);
void plot_svg_add_escaped(struct strbuf *out, const char *text);

#endif
