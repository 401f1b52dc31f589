# vim: edits a large file by a script
numbers 50000 >text
printf '%s\n' 'g/7$/m0' '%s/\(\d\)\(\d\)/\2\1/ge' 'sort n' 'w! done' 'qa!' >script
same edit vim -u NONE -es -N -i NONE -S script text
cksum done >first && rm done
same again vim -u NONE -es -N -i NONE -S script text
cksum done | cmp - first || fail "vim: another result"
