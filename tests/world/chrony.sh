# chrony: a daemon that goes into its own seccomp filter (libseccomp, which kills)
same version chronyd -v
cat >conf <<C
cmdport 0
port 0
C
same query chronyd -d -x -Q -t 1 -F 1 -f conf
