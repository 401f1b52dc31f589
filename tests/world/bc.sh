# bc: big numbers
echo 'scale=400; 4*a(1); 2^2000 % 10007' >input
same bc bc -ql
