# imagemagick: OpenMP, delegates by dlopen, caches that are mapped
export MAGICK_THREAD_LIMIT=4 HOME=$work
same picture convert -size 600x400 plasma:fractal -seed 7 -depth 8 -blur 0x3 -resize 50% -format '%wx%h' info:
same png sh -c 'convert -size 300x200 gradient:red-blue -rotate 30 png:- | convert - -format "%wx%h %#\n" info:'
same mapped convert -limit memory 1MiB -limit map 64MiB -size 800x600 gradient: -negate -format '%wx%h %#' info:
