# openssl: hashes, ciphers, checks a signature
numbers 300000 >numbers
same sha openssl dgst -sha3-512 -r numbers
same cipher openssl enc -aes-256-cbc -nosalt -pass pass:x -pbkdf2 -in numbers
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -subj /CN=x -days 1 2>/dev/null
same text openssl x509 -in cert.pem -noout -text
openssl dgst -sha256 -sign key.pem -out signature numbers && openssl x509 -in cert.pem -pubkey -noout >public.pem
same verify openssl dgst -sha256 -verify public.pem -signature signature numbers
