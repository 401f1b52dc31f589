# util-linux: small tools
numbers 20000 >input
same column column -c 100
same rev rev
same hexdump hexdump -C
same uuid uuidgen --sha1 --namespace @dns --name tidemark
