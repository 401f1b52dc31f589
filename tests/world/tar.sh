# tar: packs the sources through gzip, a child of its own
same create tar --sort=name --mtime=@0 --owner=0 --group=0 -czf - -C "$SOURCE" src
cp bare.out archive.tgz
same list tar tzf archive.tgz
