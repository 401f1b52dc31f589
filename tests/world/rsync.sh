# rsync: two processes that talk, a third forked between
mkdir -p from && numbers 60000 >from/a && for i in $(seq 200); do echo "$i" >from/f$i; done
same copy sh -c 'rm -rf to; rsync -a --checksum from/ to/ && diff -r from to && echo same'
echo more >>from/a
same update sh -c 'rm -rf to2; cp -r from to2; echo x >>to2/a; rsync -a -I --no-whole-file --itemize-changes from/a to2/ | cut -c1-11; diff -r from to2 && echo same'
