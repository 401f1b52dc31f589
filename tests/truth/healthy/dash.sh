# truth: healthy
# what: a script of the shell that is /bin/sh
# needs: dash
echo 'i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); x="$x$i"; x=${x#????}; done; echo $i' >script
record dash script >/dev/null
