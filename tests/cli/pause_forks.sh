# A fork while another thread pauses or resumes: the child can pause, and what it says is done.
. "$HERE/lib.sh"

tidemark record -q --no-follow -o alone.tmk "$CLI/cli_pause_forks" 400
echo "status $?"
tidemark record -q -o 'c.%p.tmk' "$CLI/cli_pause_forks" 25
echo "status $?"
for profile in $(profiles_in c.*.tmk); do
    query "$profile" "SELECT function.name, sum(alloc_count) FROM site JOIN path ON path.id = site.path
        JOIN location_frame USING (location) JOIN function ON function.id = location_frame.function
        WHERE function.name LIKE 'victim%' AND alloc_count > 0 GROUP BY 1"
done | sort | uniq -c | awk '{ print $1, $2 }'
