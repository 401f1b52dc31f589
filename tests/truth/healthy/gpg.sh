# truth: healthy
# what: gpg hashes and enciphers with a passphrase
# needs: gpg
mkdir -m 700 g; export GNUPGHOME=$PWD/g
numbers 50000 >n
record gpg --batch --print-md SHA512 n >/dev/null
gpgconf --kill all 2>/dev/null || true
