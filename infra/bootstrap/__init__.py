"""A bare host becomes a verified member of a cluster: packages, network, containerd, kubeadm, kubelet.

Steps are plain functions over a `Host` (where commands run) and a `Plan` (what is wanted): the same steps
serve the embedded single-machine cluster and, through a host that is reached over a network, other machines.
"""
