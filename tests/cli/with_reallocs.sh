# What is alive at the peak may be more than allocations alone asked for: the line says both sums.
. "$HERE/lib.sh"
for victim in realloc basic; do
    tidemark record -o run.tmk --force "$VICTIMS/$victim" 2>&1 >/dev/null | sed -n 's/^  allocations/summary:/p'
    tidemark report run.tmk | sed -n 's/^  allocations \(.*\);.*/report: \1/p'
done
