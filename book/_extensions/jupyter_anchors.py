"""Links to a heading as JupyterLab spells them, `[text](#The-heading)`, work on the site too."""


def slug(title: str) -> str:
    """The anchor JupyterLab gives a heading: its words joined by hyphens, otherwise as it is."""
    return title.replace(" ", "-")
