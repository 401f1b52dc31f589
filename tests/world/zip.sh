# zip unzip: makes an archive of the sources and tests it
same zip zip -qrX - "$SOURCE/src/common/base"
cp bare.out archive.zip
same test unzip -tq archive.zip
same list unzip -l archive.zip
