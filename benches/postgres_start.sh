#!/bin/sh
# postgres_start.sh [MIB [again]]: a PostgreSQL server started, its table read into its buffers of so many MiB, and stopped.
#
# PostgreSQL creates none of its shared buffers when it starts; whoever touches a buffer first pays. So what a start costs
# is measured with the first pg_prewarm. With `again` the table is read a second time, into buffers that are there, and the
# seconds of each part are told: the difference of the two reads is all that any placement can save. The first call makes the server's data (a table of 70 % of the buffers) under
# $TMPDIR, where it stays until you remove it: make that call before you measure.
set -eu
mib=${1:-2048}
folder=${TMPDIR:-/tmp}/firsttouch-postgres-$mib
data=$folder/cluster
for programs in /usr/lib/postgresql/*/bin; do PATH=$PATH:$programs; done
mkdir -p "$folder"
as_server=''
# The server refuses to be root.
if [ "$(id -u)" -eq 0 ]; then
    as_server='setpriv --reuid=postgres --regid=postgres --clear-groups'
    chown postgres "$folder"
fi
cd "$folder"
ask() { $as_server psql -h "$folder" -U postgres -qXtA -c "$1"; }
start() { $as_server pg_ctl -D "$data" -s -w -l "$folder/log" start; }
stop() { $as_server pg_ctl -D "$data" -m fast -s -w stop; }
if [ ! -e ready ]; then
    rm -rf "$data"
    $as_server initdb -D "$data" -A trust -N -U postgres --locale=C -E UTF8 >/dev/null
    $as_server tee -a "$data/postgresql.conf" >/dev/null <<SETTINGS
listen_addresses = ''
unix_socket_directories = '$folder'
shared_buffers = ${mib}MB
fsync = off
autovacuum = off
SETTINGS
    start
    $as_server pgbench -h "$folder" -U postgres -q -i -s $((mib * 7 / 130)) postgres >/dev/null 2>&1
    ask 'create extension pg_prewarm'
    stop
    $as_server touch ready
fi
now() { date +%s.%N; }
begun=$(now)
start
started=$(now)
ask "select pg_prewarm('pgbench_accounts')"
read=$(now)
[ "${2:-}" != again ] || ask "select pg_prewarm('pgbench_accounts')"
read_again=$(now)
stop
if [ "${2:-}" = again ]; then
    echo "$begun $started $read $read_again $(now)" |
        awk '{ printf "start %.2f s, first read %.2f s, second read %.2f s, stop %.2f s\n", $2 - $1, $3 - $2, $4 - $3, $5 - $4 }' >&2
fi
