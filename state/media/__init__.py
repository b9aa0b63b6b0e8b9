"""What media actors keep: contents, generations, prompts."""
