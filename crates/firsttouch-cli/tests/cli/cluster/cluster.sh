#!/bin/bash
# A network of hosts with sshd, in which a command runs: cluster.sh FOLDER COMMAND…
#
# To be the first process of new network, mount and PID namespaces (unshare --net --mount --pid --fork --mount-proc): all that is made
# here is in these, and goes with it. FOLDER/hosts/NAME/bin is in front of the PATH of each host, FOLDER/hosts/NAME/thp lies over its
# setting of transparent huge pages; a host without the folder bin has a name and an address, and nobody is there.
set -eu
folder=$1
shift
own=$(readlink /proc/self/ns/net)
ip link set lo up
ip link add hosts type bridge
ip address add 10.99.0.1/24 dev hosts
ip link set hosts up
mount -t tmpfs none /run
mkdir -p /run/sshd
[ ! -e ~/.bashrc ] || mount --bind /dev/null ~/.bashrc
for key in key host_key; do
    # A second command has the keys of the first.
    [ -e "$folder/$key" ] || ssh-keygen -q -t ed25519 -N '' -f "$folder/$key"
done
cat > "$folder/config" <<END
Host *
  User root
  IdentityFile $folder/key
  IdentitiesOnly yes
  UserKnownHostsFile /dev/null
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking no
  LogLevel ERROR
  ControlPath none
END

# In the namespaces of the host: the address, the files, and sshd in the place of this shell.
host() {
    until ip link show eth0 >/dev/null 2>&1; do :; done
    hostname "$1"
    ip link set lo up
    ip address add "$2/24" dev eth0
    ip link set eth0 up
    [ ! -e "$folder/hosts/$1/thp" ] || mount --bind "$folder/hosts/$1/thp" /sys/kernel/mm/transparent_hugepage/enabled
    cat > "$folder/hosts/$1/sshd_config" <<END
HostKey $folder/host_key
AuthorizedKeysFile $folder/key.pub
StrictModes no
UsePAM no
UseDNS no
PidFile none
PermitRootLogin prohibit-password
PasswordAuthentication no
SetEnv PATH=$folder/hosts/$1/bin:/usr/bin:/bin
END
    exec /usr/sbin/sshd -D -f "$folder/hosts/$1/sshd_config" -E "$folder/hosts/$1/log"
}
export folder
export -f host

number=10
# Process and address of those that are there. Who is asked before its address is set is asked again by the kernel after a second, so all are made
# before the first is waited for.
there=()
for path in "$folder"/hosts/*; do
    name=${path##*/}
    number=$((number + 1))
    address=10.99.0.$number
    printf 'Host %s\n  HostName %s\n' "$name" "$address" >> "$folder/config"
    [ -d "$path/bin" ] || continue
    unshare --net --mount --uts bash -euc 'host "$@"' host "$name" "$address" &
    until other=$(readlink /proc/$!/ns/net) && [ "$other" != "$own" ]; do kill -0 $!; done
    ip link add "to-$name" type veth peer name eth0 netns $!
    ip link set "to-$name" master hosts up
    there+=("$! $address")
done
for host in "${there[@]}"; do
    read -r process address <<< "$host"
    until (exec 3<>"/dev/tcp/$address/22") 2>/dev/null; do kill -0 "$process"; done
done
exec "$@"
