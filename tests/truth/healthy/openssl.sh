# truth: healthy
# what: openssl makes a key, signs and hashes
# needs: openssl
record openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -subj /CN=t 2>/dev/null
numbers 100000 | record openssl dgst -sha256 >/dev/null
