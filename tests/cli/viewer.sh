# The page that reads dropped profiles: where it goes, and what is never overwritten. What it shows
# is tests/web's.
. "$HERE/lib.sh"

tidemark viewer -o - >there 2>err || { grep -q 'built without a viewer' err && skip "$(cat err)"; }
grep -c '<html[^>]* data-tidemark="viewer"' there
grep -o 'data-asset="viewer[^"]*"' there
echo "of a profile: $(grep -c 'data-name=' there)"

try tidemark viewer public
cmp there public/index.html && echo "the same page"
try tidemark viewer public
sentence "will not replace"
try tidemark viewer --force public
try tidemark viewer
sentence "give one directory"
try tidemark viewer one two
sentence "give one directory"
try tidemark viewer -o page.html public
sentence "either --output or a directory"
try tidemark viewer no/such/place
sentence "cannot make no/such/place"
tidemark record -q -o run.tmk true
try tidemark viewer --force -o run.tmk
sentence "it is a profile"

# A page of a profile has nothing of it.
tidemark html -o run.html run.tmk 2>err
echo "in html's page: $(grep -c 'data-asset="viewer' run.html)"
