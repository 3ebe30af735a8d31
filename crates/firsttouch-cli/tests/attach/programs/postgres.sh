#!/bin/sh
# postgres.sh ROUNDS MIB: a PostgreSQL server of its own with so much shared memory, under pgbench by four clients.
#
# Talks as gather.c does; the process is the postmaster. A round's clients draw the same numbers every time, and what
# they add up does not depend on their order: the digest is of the tables' contents.
set -eu
rounds=$1 mib=$2
for programs in /usr/lib/postgresql/*/bin; do PATH=$PATH:$programs; done
data=$(mktemp -d /tmp/firsttouch-postgres-XXXXXX)
as_server=''
if [ "$(id -u)" -eq 0 ]; then
    as_server="setpriv --reuid=postgres --regid=postgres --clear-groups env HOME=$data"
    chown postgres "$data"
fi
# Its own name for the socket, so that any number may run at once.
here="-h $data"
finish() { cd /; $as_server pg_ctl -D "$data/cluster" -m immediate -s stop >&2 || true; rm -rf "$data"; }
trap finish EXIT
trap 'exit 1' INT TERM
folder=$PWD
cd "$data"
$as_server initdb -D cluster -A trust -N -U postgres --locale=C -E UTF8 >/dev/null
cat >>cluster/postgresql.conf <<SETTINGS
listen_addresses = ''
unix_socket_directories = '$data'
shared_buffers = ${mib}MB
huge_pages = off
fsync = off
synchronous_commit = off
full_page_writes = off
autovacuum = off
checkpoint_timeout = 1h
log_min_messages = warning
SETTINGS
$as_server pg_ctl -D cluster -s -w -l "$data/log" start
ask() { $as_server psql $here -U postgres -qXtA -c "$1"; }
$as_server pgbench $here -U postgres -q -i -s $((mib / 20 + 1)) postgres >/dev/null 2>&1
ask 'create extension pg_prewarm'
ask "select pg_prewarm('pgbench_accounts'), pg_prewarm('pgbench_accounts_pkey')" >/dev/null
echo "ready $(head -n 1 cluster/postmaster.pid)"
round=0
while if [ "$rounds" -gt 0 ]; then [ $round -lt "$rounds" ]; else [ ! -e "$folder/stop" ]; fi; do
    round=$((round + 1))
    $as_server pgbench $here -U postgres -n -c 4 -j 2 -t 500 --random-seed=$round postgres >"$data/said" 2>&1 ||
        { cat "$data/said" "$data/log" >&2; exit 1; }
    echo "round $round $(ask "select md5((select string_agg(aid || ':' || abalance, ',' order by aid) from pgbench_accounts
        where abalance <> 0) || (select sum(tbalance) from pgbench_tellers) || (select sum(bbalance) from pgbench_branches)
        || (select sum(delta) from pgbench_history) || (select count(*) from pgbench_history))")"
done
# What the server has to complain about is part of what it says.
if [ -s "$data/log" ] && grep -E 'WARNING|ERROR|FATAL|PANIC|LOG: .*terminated' "$data/log" >&2; then exit 1; fi
