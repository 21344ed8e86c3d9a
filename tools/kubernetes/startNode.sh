#!/usr/bin/env bash
# The first process of a node, in namespaces of its own (network, mounts, processes): when it ends, the system ends all of the node's processes,
# pods included, and its mounts and interfaces are gone.
# Variables: FOLDER, PROGRAMS, NAME, ADDRESS, GATEWAY, BITS, KUBELET_CONFIG, PROXY_CONFIG, POD_RANGE,
# PEERS (other nodes: `<range of their pods>=<address>`, with spaces between).
set -euo pipefail

# The runtime's sockets and the names of the pods' networks, the plugins' caches, and links to logs would otherwise be shared with other nodes.
mkdir -p /var/lib/cni /var/log/containers /var/lib/kubelet
for folder in /run /var/lib/cni /var/log/containers; do mount -t tmpfs tmpfs "$folder"; done
mkdir -p "$FOLDER/kubelet" && mount --bind "$FOLDER/kubelet" /var/lib/kubelet
mkdir -p /run/containerd /run/netns

# Whoever has started this process connects the other end of the cable.
until ip link show eth0 >/dev/null 2>&1; do sleep 0.1; done
ip link set lo up
ip addr add "$ADDRESS/$BITS" dev eth0
ip link set eth0 up
ip route add default via "$GATEWAY"
for peer in $PEERS; do ip route add "${peer%=*}" via "${peer#*=}"; done
echo 1 >/proc/sys/net/ipv4/ip_forward
# Packets between pods of one node pass the rules of Services, too.
[ ! -e /proc/sys/net/bridge/bridge-nf-call-iptables ] || echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables

containerd --config "$FOLDER/containerd.toml" >>"$FOLDER/containerd.log" 2>&1 &
until [ -S /run/containerd/containerd.sock ]; do sleep 0.1; done
"$PROGRAMS/kubelet" --config="$FOLDER/kubelet.yaml" --kubeconfig="$KUBELET_CONFIG" --hostname-override="$NAME" --node-ip="$ADDRESS" \
  >>"$FOLDER/kubelet.log" 2>&1 &
"$PROGRAMS/kube-proxy" --kubeconfig="$PROXY_CONFIG" --hostname-override="$NAME" --proxy-mode=iptables --cluster-cidr="$POD_RANGE" \
  --conntrack-max-per-core=0 --conntrack-tcp-timeout-established=0 --conntrack-tcp-timeout-close-wait=0 >>"$FOLDER/kube-proxy.log" 2>&1 &
wait -n
echo "one of containerd, kubelet and kube-proxy has ended; their logs are in $FOLDER"
exit 1
