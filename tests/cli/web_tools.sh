# Where npm's packages cannot be had the web view is a plain page, and that is said; unless it is needed.
. "$HERE/lib.sh"

mkdir -p tree/tools tree/web stub
cp "$HERE/../../tools/web.sh" tree/tools/
cp "$HERE/../../web/package-lock.json" tree/web/
printf '#!/bin/sh\necho "no way to the registry" >&2\nexit 1\n' >stub/npm
chmod +x stub/npm
mkdir bare
for tool in sh dirname cat rm find touch; do ln -s "$(command -v $tool)" bare/; done
try env PATH="$PWD/bare" sh tree/tools/web.sh
sentence "no npm here"
try env PATH="$PWD/bare" sh tree/tools/web.sh needed
sentence "no npm here"
PATH=$PWD/stub:$PATH
try sh tree/tools/web.sh
sentence "packages cannot be had"
try sh tree/tools/web.sh needed
grep -c "no way to the registry" err
