# truth: healthy
# what: unbound-checkconf, and unbound answers local names
# needs: unbound unbound-checkconf python3
port=$(free_port)
{ printf 'server:\n interface: 127.0.0.1@%s\n do-daemonize: no\n username: ""\n chroot: ""\n pidfile: "%s/pid"\n use-syslog: no\n logfile: "%s/log"\n directory: "%s"\n' $port "$PWD" "$PWD" "$PWD"; for i in $(seq 2000); do echo " local-data: \"h$i.test. A 10.0.$((i/250)).$((i%250))\""; done; } >u.conf
record unbound-checkconf u.conf
record unbound -d -c u.conf & 
sleep 2
python3 - $port <<'X'
import socket,struct,sys
s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.settimeout(1)
for i in range(3000):
    n=b'h%d'%(i%2100); q=struct.pack('>HHHHHH',i,256,1,0,0,0)+bytes([len(n)])+n+b'\4test\0\0\1\0\1'
    s.sendto(q,('127.0.0.1',int(sys.argv[1])))
    try: s.recv(999)
    except Exception: pass
X
kill $(cat pid); wait
