"""How well a model does on tasks that nobody trained on."""
