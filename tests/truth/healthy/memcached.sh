# truth: healthy
# what: memcached keeps 20,000 values
# needs: memcached python3
port=$(free_port)
record memcached -u root -p $port -l 127.0.0.1 -P $PWD/pid -m 32 &
sleep 1.5
python3 - $port <<'X'
import socket,sys
s=socket.create_connection(('127.0.0.1',int(sys.argv[1]))); f=s.makefile('rb')
for i in range(20000):
    s.sendall(b'set k%d 0 0 200\r\n'%i+b'x'*200+b'\r\n'); f.readline()
for i in range(5000):
    s.sendall(b'get k%d\r\n'%i)
    while f.readline()!=b'END\r\n': pass
X
kill $(cat pid); wait
