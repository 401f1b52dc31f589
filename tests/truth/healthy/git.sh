# truth: healthy
# what: git log of 60 commits, and a repack
# needs: git
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t
git init -q repository && cd repository
for i in $(seq 60); do numbers $((i * 50)) >"f$((i % 5))"; git add . && git commit -qm "$i"; done
record git --no-pager log -p --stat >/dev/null
record git repack -q -a -d -f
