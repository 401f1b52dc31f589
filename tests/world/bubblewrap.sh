# bubblewrap: namespaces, a root of its own, an init that reaps, a child that is confined
same plain bwrap --bind / / sh -c 'echo $((6 * 7)); exit 3'
# In another root our library must be seen where the environment says, or ld.so complains of it.
library=$(dirname "$(dirname "$TIDEMARK")")
same root bwrap --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 --symlink usr/bin /bin --ro-bind "$library" "$library" --proc /proc --dev /dev --unshare-pid sh -c 'ls / | sort | head -3; exit 4'
RECORD_OPTIONS=--no-follow
same alone bwrap --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 --symlink usr/bin /bin --proc /proc --dev /dev --unshare-pid sh -c 'ls / | sort | head -3; exit 4'
