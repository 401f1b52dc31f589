# truth: healthy
# what: curl fetches a file by file://
# needs: curl
numbers 100000 >n
record curl -s "file://$PWD/n" -o got
