"""Metadata of results: tensors without data, shape rules by operator overload, torch's meta kernels for
the rest."""
