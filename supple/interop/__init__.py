"""Other people's formats: torch.fx graphs and the backends that torch has registered."""
