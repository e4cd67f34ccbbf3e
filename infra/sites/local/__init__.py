"""The site on one machine: the embedded cluster and directories of the machine itself."""
