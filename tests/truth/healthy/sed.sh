# truth: healthy
# what: sed replaces in 100,000 lines
# needs: sed
numbers 100000 >text
record sed -e 's/\([0-9]\)\([0-9]\)/\2-\1/g' -e '$!N;s/\n/ /' text >/dev/null
