#!/bin/sh
# Sixty starts of a program that does nothing, in a lab's guest: with the same addresses at each start (0) or with others (2).
#
#   firsttouch lab --copy-in /usr/bin/true -- sh benches/lab_starts.sh 2
set -e
echo "$1" >/proc/sys/kernel/randomize_va_space
starts=0
while [ "$starts" -lt 60 ]; do
    firsttouch run --pages thp -- true
    starts=$((starts + 1))
done
