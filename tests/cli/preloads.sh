# Programs that are not followed do not find the recorder, and keep what their user preloads.
. "$HERE/lib.sh"

recorder=$(dirname "$BIN")/lib/libtidemark.so
children='env | grep -E "^(LD_PRELOAD|TIDEMARK_[^C])" | sort; true'

echo "--- none"
tidemark record -q --no-follow -o a.tmk sh -c "$children"
for others in libm.so.6 libm.so.6:libresolv.so.2 'libm.so.6 libresolv.so.2'; do
    echo "--- $others"
    LD_PRELOAD=$others tidemark record -q --no-follow -o a.tmk sh -c "$children"
done
echo "--- by hand: first, in the middle, last, twice, alone, and a variable of the user's own"
for list in "$recorder:libm.so.6" "libm.so.6:$recorder libresolv.so.2" "libm.so.6:libresolv.so.2 $recorder" \
    "$recorder:libm.so.6:$recorder" "$recorder" " $recorder "; do
    echo "- $list" | sed "s,$recorder,RECORDER,g"
    TIDEMARK_MINE=1 TIDEMARK_OPTIONS='--no-follow -o a.tmk' LD_PRELOAD=$list sh -c "$children"
done
echo "--- followed, it stays"
LD_PRELOAD=libm.so.6 tidemark record -q -o 'f.%p.%n.tmk' sh -c "$children" |
    sed -e "s,=.*/libtidemark\.so,=(recorder)," -e 's/\(SESSION\)=.*/\1=…/'
