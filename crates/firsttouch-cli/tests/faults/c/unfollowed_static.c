// A static program that was to be followed into: its file says why no agent is in it.
//# once: the kind of pages is nothing to it
//# build: -static
//# run: --follow -- once
//# inside: "$@"; exit $?
//# expect: note~96.
//# expect: note~is statically linked
#include "unfollowed.c"
