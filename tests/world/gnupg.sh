# gnupg: ciphers with a passphrase, through its agent; secure memory that it locks
mkdir -m 700 home
export GNUPGHOME=$work/home
numbers 50000 >numbers
gpg --batch --pinentry-mode loopback --passphrase x -c -o ciphered.gpg numbers 2>/dev/null
same decrypt gpg --batch -q --pinentry-mode loopback --passphrase x -d ciphered.gpg
same digest gpg --batch --print-md SHA512 numbers
gpgconf --kill all
