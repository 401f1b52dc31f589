# truth: healthy
# what: find walks /usr/share
# needs: find
record find /usr/share/doc -name '*.gz' >/dev/null
