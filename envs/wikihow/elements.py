"""What a screen of WikiHow is made of, so that screens are compared by their build and not by their words."""

import re

_ELEMENT = re.compile(r"""<([a-z][\w-]*)((?:\s+[\w-]+(?:="[^"]*")?)*)\s*/?>""", re.IGNORECASE)
_LOOKS = re.compile(r"""\s(class|alt)="([^"]*)\"""", re.IGNORECASE)


def elements(screen: str) -> list[str]:
    """The elements of a screen from top to bottom, as `TextEnv` may have it: each is its tag with its class and alt.

    A tag alone would take all pictures for one: a logo, a search button, a photo.
    """
    found = []
    for tag, attributes in _ELEMENT.findall(screen):
        looks = {name.lower(): value for name, value in _LOOKS.findall(attributes)}
        found.append(" ".join([tag.lower(), *(f'{name}="{looks[name]}"' for name in sorted(looks))]))
    return found
