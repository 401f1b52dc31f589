# truth: healthy
# what: zip packs a tree, and unzip unpacks it
# needs: zip unzip
mkdir t; for i in $(seq 200); do numbers 2000 >t/$i; done
record zip -qr t.zip t
record unzip -qd u t.zip
