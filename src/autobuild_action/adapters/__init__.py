"""The only modules that touch the world; the core never imports them."""
