# A disk on which only what is kept for root is left: root's job has room there.
. "$HERE/lib.sh"
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" = 0 ] && truncate -s 8M image && mke2fs -q -F -m 50 image 2>/dev/null && mkdir small &&
    mount -o loop image small 2>/dev/null || skip "cannot mount here"
trap 'umount small' EXIT

head -c "$(df --output=avail -B1 small | tail -1)" /dev/zero >small/filler
df --output=avail small | tail -1 | tr -d ' '
PMI_RANK=0 PMI_SIZE=1 tidemark record --job=small/runs --job-id=x "$VICTIMS/basic" 1 2>&1 | grep -c 'no room is left'
tidemark job small/runs | grep -c 'rank.*basic\|basic.*rank'
