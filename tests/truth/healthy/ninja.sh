# truth: healthy
# what: ninja reads 3,000 rules and builds forty targets
# needs: ninja
# small: yes
{
    echo 'rule touch'
    echo '  command = touch $out'
    for i in $(seq 3000); do echo "build deep/in/some/folder/of/the/build/out$i: touch"; done
    echo 'build few: phony' $(seq -f 'deep/in/some/folder/of/the/build/out%g' 40)
} >build.ninja
record ninja -j2 few >/dev/null
