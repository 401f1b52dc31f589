# truth: healthy
# what: bash expands {1..20000} and fills an array, which leaves a few MiB between live blocks
# needs: bash
record bash -c 'for i in {1..20000}; do a[i]=$i; done; echo ${#a[@]}' >/dev/null
