#!/bin/sh
# Two guests at a time of two processors each, whose programs map and unmap in two threads: on a machine of two processors the guests
# wait for each other. With --single-thread, or without.
#
#   sh benches/lab_pair.sh --single-thread
set -e
work() {
    firsttouch lab "$@" --copy-in /usr/bin/true -- sh -c 'starts=0; while [ "$starts" -lt 20 ]; do
        firsttouch run --pages thp -- true & firsttouch run --pages thp -- true; wait; starts=$((starts + 1)); done'
}
work "$@" &
work "$@"
wait
