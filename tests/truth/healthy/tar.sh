# truth: healthy
# what: tar packs a folder of 500 files
# needs: tar
mkdir folder && for i in $(seq 500); do echo $i >folder/file-with-a-name-$i; done
record tar -cf folder.tar folder
record tar -tvf folder.tar >/dev/null
