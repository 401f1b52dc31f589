# truth: healthy
# what: file tells what six files are
# needs: file
record file /bin/bash /bin/sed /bin/ls /etc/passwd /usr/bin/env /etc/profile >/dev/null
