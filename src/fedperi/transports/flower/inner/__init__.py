"""The only folder that uses Flower's inner interfaces, which Flower does not promise to keep.

Sites and coordinator use Flower's network interfaces directly, so that no process of ours ever loads code that came
over the network. Everything else in this room uses Flower's public names only (``flwr.app``, ``flwr.clientapp``,
``flwr.serverapp``). ``tests/transports/test_flower_contract.py`` lists the inner interfaces and their purposes: when a
new version of Flower changes one, that test fails first, and only this folder has to change.

`superlink` runs Flower's server, `control` and `grid` are the coordinator's side, and `fleet` is a site's.
"""
