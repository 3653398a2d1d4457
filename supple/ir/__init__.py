"""The three languages (graph, loops, host) and the words they share: dtypes, metadata, ops."""
