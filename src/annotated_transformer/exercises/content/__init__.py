"""The exercises themselves: one topic a folder, one exercise a module."""
