# truth: healthy
# what: ninja builds forty targets
# needs: ninja
# small: yes
{
    echo 'rule touch'
    echo '  command = touch $out'
    for i in $(seq 40); do echo "build out$i: touch"; done
} >build.ninja
record ninja -j2 >/dev/null
