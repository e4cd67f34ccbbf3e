"""Configuration files from templates; a name that a template uses and nobody gave is an error."""

from pathlib import Path

import jinja2

TEMPLATES = Path(__file__).parent / "templates"


def render(template: str, **values: object) -> str:
    """The text of a file of `templates/`, with `values` filled in."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(**values)
