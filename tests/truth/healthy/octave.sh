# truth: healthy
# what: octave solves linear systems and fits
# needs: octave-cli
record octave-cli --norc --eval 'for i=1:20; A=rand(200); b=A\rand(200,1); end; s=struct(); for i=1:2000; s.(sprintf("f%d",i))=i; end; disp(norm(b)>0)'
