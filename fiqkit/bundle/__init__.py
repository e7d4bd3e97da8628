"""A folder that carries the kit to a machine without a network: wheels, weights, hashes, an installer."""
