# Sampled recordings say so, wherever they are looked at; what cannot be sampled is refused.
. "$HERE/lib.sh"

try tidemark record --sample=4K -o s.tmk "$VICTIMS/sampled" 2
grep -c '^  sampled      one allocation in every 4.00 KiB on average; [0-9,]* samples$' err
grep -Ec '^  allocations  ~[0-9.]+ k of [0-9.]+ MiB ±[0-9.]+ [KM]iB in all$' err
query s.tmk "SELECT value FROM meta WHERE key = 'sample_bytes'"
query s.tmk "SELECT sample_count > 1000 AND alloc_variance > 0 FROM program"
try tidemark report s.tmk
grep -c '^  sampled      one allocation in every 4.00 KiB on average; ' out
grep -Eq '^ +[0-9.]+ [KM]iB +±[0-9.]+ [KM]iB +[0-9.]+ %  victim_' out && echo "error bars"
grep -Eq '^ +~[0-9.]+ k +[0-9.]+ %  victim_' out && echo "counts are approximate"
grep -q 'all of .* sampled events are in this profile' out && echo "nothing lost"
try tidemark report --json s.tmk
jq -c '.sampled | [.interval_bytes, .samples > 1000, .confidence_percent]' out
jq -c '.program | [.alloc_bytes_error > 0, .live_bytes_error > 0, .at_peak_bytes_error > 0]' out
jq -c '.sections[] | select(.metric == "bytes") | .sites[0].metrics | [.sample_count > 100, .alloc_bytes_error > 0]' out

# The child of its fork has a profile of its own, a sample too.
for profile in $(profiles_in ./s.tmk ./s.session.tmk); do
    query "$profile" "SELECT value FROM meta WHERE key = 'sample_bytes'"
done
rm -f ./*.tmk

# Without it nothing is: no sign of it anywhere. 0 is without it.
try tidemark record --sample=0 -o e.tmk "$VICTIMS/sampled" 1
tidemark report e.tmk | grep -c '^  sampled\|of the sample\|±\| ~[0-9]'
tidemark report --json e.tmk | jq -c '[.sampled, .program.sample_count, .program.alloc_bytes_error]'
query e.tmk "SELECT count(*) FROM meta WHERE key = 'sample_bytes'"
rm -f ./*.tmk

# Preloaded by hand.
library=$(dirname "$BIN")/lib/libtidemark.so
TIDEMARK_OPTIONS="-q --no-follow --sample 64K -o hand.tmk" LD_PRELOAD=$library "$VICTIMS/sampled" 1
query hand.tmk "SELECT value FROM meta WHERE key = 'sample_bytes'"

for size in often -1 '' 2G 1T; do
    try tidemark record "--sample=$size" true
    sentence sample
done
