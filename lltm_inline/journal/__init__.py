"""What a notebook has made, kept on disk: every revision, and the draft in a panel, until a restart brings them back."""
