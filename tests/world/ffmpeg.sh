# ffmpeg: dozens of threads, hundreds of libraries, aligned blocks
same video ffmpeg -nostdin -v error -f lavfi -i testsrc=duration=2:size=320x240:rate=25 -c:v mpeg4 -threads 4 -bitexact -f framemd5 -
same sound ffmpeg -nostdin -v error -f lavfi -i sine=duration=5 -c:a flac -bitexact -f md5 -
