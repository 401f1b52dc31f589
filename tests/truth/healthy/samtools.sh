# truth: healthy
# what: samtools sorts and indexes reads
# needs: samtools bcftools
awk 'BEGIN{srand(3);print ">c1";s="";for(i=0;i<20000;i++)s=s substr("ACGT",int(rand()*4)+1,1);print s}' >ref.fa
awk 'NR==2{r=$0;print "@SQ\tSN:c1\tLN:20000";srand(4);for(i=0;i<40000;i++){p=int(rand()*19900)+1;q=substr(r,p,80);g=q;gsub(/./,"I",g);print "r" i "\t0\tc1\t" p "\t60\t80M\t*\t0\t0\t" q "\t" g}}' ref.fa >u.sam
record samtools sort -o s.bam u.sam
record samtools index s.bam
record samtools faidx ref.fa
record bcftools mpileup -f ref.fa s.bam -Ob -o v.bcf
record bcftools call -mv v.bcf -o v.vcf
