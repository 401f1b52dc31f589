# truth: healthy
# what: rsync copies a folder
# needs: rsync
mkdir from && for i in $(seq 300); do echo $i >from/file-$i; done
record rsync -a from/ to/
