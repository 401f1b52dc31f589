# util-linux: small tools
numbers 20000 >input
same column column -c 100
same rev rev
same hexdump hexdump -C
