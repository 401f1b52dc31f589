# m4: recursive macros
echo "define(\`f',\`ifelse(\$1,0,done,\`\$1 f(decr(\$1))')')f(2000) eval(2**30)" >input
same expand m4
