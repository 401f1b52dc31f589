# zsh: arrays, globs, subshells
same run zsh -f -c 'for i in {1..20000}; do a[i]=x$i; done; print ${#a} ${a[777]}; print -l /usr/share/doc/*(N) | wc -l; (exit 3); print $?; exit 5'
