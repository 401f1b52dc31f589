# git: a history made, packed, searched, blamed
export HOME=$work GIT_AUTHOR_DATE='2000-01-01T00:00:00Z' GIT_COMMITTER_DATE='2000-01-01T00:00:00Z'
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t
git init -q repository && cd repository
for i in $(seq 1 20); do numbers $((i * 100)) >"f$((i % 5))"; git add . && git commit -qm "$i"; done
same log git --no-pager log -p --stat
same blame git --no-pager blame f1
same repack git repack -q -a -d -f --depth=50 --window=50 --threads=2
same fsck git fsck --full
same clone sh -c 'rm -rf ../clone; git clone -q --bare . ../clone'
cd ..
