#!/bin/sh
# Two guests at a time of several processors each, in which two threads unmap pages: on a machine of two processors those of a guest wait for
# each other. PROGRAM is what `cc -O2 -pthread benches/unmap.c -o PROGRAM` makes; OPTION is one of `firsttouch lab`.
#
#   sh benches/lab_pair.sh PROGRAM --single-thread
set -e
firsttouch lab "$2" --copy-in "$1" -- "$1" &
firsttouch lab "$2" --copy-in "$1" -- "$1"
wait
