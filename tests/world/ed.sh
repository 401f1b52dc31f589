# ed: edits by a script
numbers 20000 >text
printf '%s\n' 'g/7$/m0' 'g/3/s//x/' '1,20p' '$=' Q >input
same edit ed -s text
