# fish: a shell with threads
export HOME=$work XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work
same run fish --no-config -c 'for i in (seq 1 500); set -a l (math $i x 7); end; echo $l[499]; string join , $l | string length; exit 4'
