# truth: healthy
# what: tshark reads a capture of 20,000 packets
# needs: tshark text2pcap
awk 'BEGIN{for(i=0;i<20000;i++){printf "000000";for(j=0;j<60;j++)printf " %02x",(i*j+j)%256;print ""}}' >h
text2pcap -q -u 1000,53 h c.pcap
record tshark -r c.pcap -V >out 2>/dev/null
