# truth: healthy
# what: vim -es edits 20,000 lines
# needs: vim
numbers 20000 >text
printf '%s\n' '%s/\(\d\)\(\d\)/\2\1/ge' 'sort n' 'w! done' 'qa!' >script
record vim -u NONE -es -N -i NONE -S script text
