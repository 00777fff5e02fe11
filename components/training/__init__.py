"""Every gradient step, through TRL (https://github.com/huggingface/trl)."""
