"""How people ask for a product in our own shop: many voices, some in a hurry, some who cannot spell."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from envs.webshop.goods import Attribute, Kind, Name, with_article

# {thing} has its article, {bare} has none.
_OPENINGS = (
    "i'm looking for {thing}", "i am looking for {thing}", "im looking for {thing}", "i need {thing}", "i want {thing}",
    "looking for {thing}", "need {thing} asap", "can you find me {thing}", "could you please find {thing}",
    "find me {thing}", "show me {thing}", "do you have {bare}", "where can i get {thing}", "i would like {thing}",
    "i'd like to buy {thing}", "i'd love {thing}", "{thing}", "{bare}", "{thing} please", "{bare}, nothing fancy",
    "hi, i am after {thing}", "hey, got any {bare}", "yo i need {thing}", "gimme {thing}", "help me find {thing}",
    "i wanna buy {thing}", "searching for {bare}", "shopping for {thing} today", "any chance you sell {bare}",
    "please get me {thing}", "i'm trying to find {thing}", "i could really use {thing}", "let's order {thing}",
    "what i want is {thing}", "do you carry {bare}", "i'm on the hunt for {thing}", "are there any {bare} in stock",
    "i am interested in {thing}", "i'm in the market for {thing}", "would you have {thing}", "please show me {bare}",
    "hello, i need help finding {thing}", "i've been looking everywhere for {thing}", "in need of {bare}",
    "i have to get {thing} before friday", "it's time i bought {thing}", "got {thing}",
)  # fmt: skip
_STORIES = (
    "my {who} wants {thing}", "my {who} asked for {thing}", "i need {thing} for my {who}", "{bare} for my {who}",
    "my {who} keeps talking about {thing}", "i promised my {who} {thing}", "it's my {who}'s birthday, so {thing}",
    "my {who} swears by {bare}, so i want to try it", "a present for my {who}: {thing}",
    "my {who} sent me to get {thing}",
)  # fmt: skip
_STORIES_OF = {
    "beauty": (
        "i ran out, so i need {thing}", "my bathroom shelf needs {thing}",
        "my {who} used up the last of it, get {thing}",
    ),
    "electronics": (
        "the old one broke so i need {thing}", "new job, new desk: {thing}", "my {who} sat on mine so i want {thing}",
    ),
    "fashion": (
        "nothing fits anymore, i need {thing}", "we leave on friday and i still need {thing}", "my {who} needs {thing}",
    ),
    "garden": (
        "we just moved in and need {thing}", "guests are coming, i need {thing}", "for the guest room i want {thing}",
    ),
    "grocery": (
        "we're out again. need {thing}", "stocking up the pantry with {bare}", "having friends over and i want {thing}",
    ),
}  # fmt: skip
_HERS = ("daughter", "wife", "mom", "sister", "girlfriend", "grandma", "aunt", "niece")
_HIS = ("son", "husband", "dad", "brother", "boyfriend", "grandpa", "uncle", "nephew")
_ANYONE = (*_HERS, *_HIS, "roommate", "boss", "neighbor")
_PRAISE = ("good", "nice", "decent", "really good", "high quality", "affordable")
_MODAL = ("must", "should", "has to", "needs to")
_SLANG = {
    r"\bplease\b": "pls", r"\bthanks\b": "thx", r"\byou\b": "u", r"\bwant to\b": "wanna", r"\blooking\b": "lookin",
    r"\bgot any\b": "u got any", r"\bi am\b": "im", r"\bi'd like to\b": "wanna", r"\bbefore\b": "b4",
}  # fmt: skip

# How to say an option: before the noun, right after it, or as an afterthought.
_SAID: Mapping[str, tuple[Sequence[str], Sequence[str], Sequence[str]]] = {
    "color": (("{v}",), ("in {v}", "in {v} color"), ("in {v}", "color {v}", "the color should be {v}", "{v} color")),
    "size": ((), ("in size {v}", "size {v}"), ("size {v}", "in size {v}", "the size is {v}", "{v} size")),
    "measured": (("{v}",), ("in the {v} size", "size {v}"), ("{v}", "size {v}", "{v} size please")),
    "container": ((), ("in the {v}", "({v})"), ("the {v}", "{v}", "{v} please", "i'd take the {v}")),
    "count": ((), ("({v})",), ("{v}", "{v} please", "{v} is what i need", "quantity {v}")),
    "fitted": ((), ("with {v}",), ("with {v}", "with the {v}")),
    "scent": (("{v} scented",), ("with {v} scent", "with a scent of {v}"), ("{v} scent", "the scent should be {v}")),
    "plainly": (("{v}",), ("in {v}",), ("{v}", "{v} please")),
    "flavor": (("{v} flavored", "{v}"), ("in {v}", "in {v} flavor"), ("{v} flavor", "the flavor should be {v}", "{v}")),
    "length": (("{v}",), ("that {is} {v} long",), ("{v} long", "length {v}", "{v} in length")),
    "model": ((), ("for my {v}", "for the {v}"), ("for my {v}", "{it} {must} fit the {v}", "model is {v}")),
    "capacity": (("{v}",), ("with {v}",), ("{v}", "capacity {v}")),
    "resolution": (("{v}",), ("with {v} resolution",), ("{v} resolution", "in {v}")),
    "layout": ((), ("with {v} layout", "with a {v} layout"), ("{v} layout", "the layout should be {v}")),
    "height": (("{v}",), ("that {is} {v} tall", "with a height of {v}"), ("{v} tall", "height {v}")),
    "strength": (("{v}",), (), ("strength {v}", "{v}", "the strength should be {v}")),
    "theme": (("{v}",), ("with {v} theme", "in the {v} theme"), ("{v} theme", "the theme should be {v}")),
    "shape": (("{v}",), ("in {v} shape",), ("{v} shape", "the shape should be {v}")),
    "heat": ((), ("with heat level {v}", "({v})"), ("heat level {v}", "{v} please")),
    "fruit": (("{v}",), ("({v})", "made from {v}"), ("{v}", "the fruit should be {v}", "{v} please")),
}  # fmt: skip
_CONTAINERS = (
    "pouch", "bag", "sack", "bottle", "bottles", "jar", "tin", "bowl", "tube", "kit", "set", "pack", "count", "case",
    "runner", "pot", "lamp", "bulbs", "carry",
)  # fmt: skip


def _way(group: str, value: str) -> str:
    """Which of the ways to say an option goes with this one."""
    if group in ("count", "pieces"):
        return "count"
    if group == "pack" or not {*value.split()}.isdisjoint(_CONTAINERS):
        return "container"
    if "tips" in value:
        return "fitted"
    if (group == "length" and "long" in value) or value in ("unscented", "original", "classic"):
        return "plainly"
    return "measured" if group == "size" and re.search(r"\d.*[a-z]|[a-z].*\d|inch", value) else group


@dataclass(slots=True)
class _Said:
    """The pieces of a sentence: before the noun, right after it; what the thing must be or have; afterthoughts."""

    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    be: list[str] = field(default_factory=list)
    have: list[str] = field(default_factory=list)
    last: list[str] = field(default_factory=list)


def wish(random: Random, kind: Kind, form: str, attributes: Sequence[Attribute], options: Mapping[str, str]) -> str:
    """Make up how somebody asks for a product of a kind and form, with these attributes and options (group to value).

    All of the attributes and options are in it, in words; the form is only now and then.
    """
    # What people call it first is what the shop calls it, and what most of them say.
    name = kind.asked[0] if random.random() < 0.65 else random.choice(kind.asked)
    many = name.article == ""
    words = {"is": "are" if many else "is", "it": "they" if many else "it", "must": random.choice(_MODAL)}
    if many and words["must"] in ("has to", "needs to"):
        words["must"] = words["must"].replace("has", "have").replace("needs", "need")
    said = _Said()
    for each in random.sample(attributes, len(attributes)):
        _say_attribute(random, said, each, words)
    for group, value in random.sample(list(options.items()), len(options)):
        _say_option(random, said, group, value, words)
    if random.random() < 0.35:
        said.before.append(form.lower())
    text = _sentence(random, said, kind, name, words)
    if random.random() < 0.12:
        for pattern, slang in _SLANG.items():
            text = re.sub(pattern, slang, text)
    if random.random() < 0.2:
        text = _mistyped(random, text)
    return text[0].upper() + text[1:] if random.random() < 0.15 else text


def _say_attribute(random: Random, said: _Said, each: Attribute, words: Mapping[str, str]) -> None:
    chance = random.random()
    if each.manner in ("is", "of"):
        made = f"made of {each.name}" if each.manner == "of" else each.name
        if chance < 0.5 and len(said.before) < 2:
            said.before.append(each.name)
        elif chance < 0.75 and not said.after:
            said.after.append(made if each.manner == "of" else f"that {words['is']} {made}")
        else:
            said.be.append(made)
    elif chance < 0.65:
        said.after.append(f"for {each.name}" if each.manner == "for" else f"with {each.noun}")
    elif each.manner == "for":
        said.be.append(f"good for {each.name}")
    else:
        said.have.append(each.noun)


def _say_option(random: Random, said: _Said, group: str, value: str, words: Mapping[str, str]) -> None:
    before, after, last = _SAID[_way(group, value)]
    chance = random.random()
    if before and chance < 0.4 and len(said.before) < 2:
        said.before.append(random.choice(before).format(v=value, **words))
    elif after and chance < 0.7 and len(said.after) < 2:
        said.after.append(random.choice(after).format(v=value, **words))
    else:
        said.last.append(random.choice(last).format(v=value, **words))


def _sentence(random: Random, said: _Said, kind: Kind, name: Name, words: Mapping[str, str]) -> str:
    praise = [random.choice(_PRAISE)] if random.random() < 0.12 else []
    bare = " ".join([*praise, *said.before, name.text, *_run_together(said.after)])
    thing = bare
    if name.article and random.random() < 0.8:  # the others forget it
        thing = with_article(bare) if name.article == "a" else random.choice(("some ", "")) + bare
    stories = random.random() < 0.3
    openings = (*_STORIES, *_STORIES_OF[kind.department] * 2) if stories else _OPENINGS
    who = random.choice(_HERS if "Women" in kind.noun else _HIS if re.match("Men|Beard", kind.noun) else _ANYONE)
    text = random.choice(openings).format(thing=thing, bare=bare, who=who)
    asked = re.match("can you|could|do you|where|hey|any|would|are there|what do", text)

    must = [f"be {' and '.join(said.be)}"] if said.be else []
    must += [f"have {' and '.join(said.have)}"] if said.have else []
    if must:
        full = f"{words['it']} {words['must']}"
        subject = random.choice((full, full if asked else words["must"], full if asked else f"and {full}"))
        demand = f"{subject} {' and '.join(must)}"
        new = asked or subject.startswith(words["it"])
        text += (("? " if asked else random.choice((". ", ", ", " - "))) if new else ", ") + demand
    if said.last:
        joint = random.choice((", ", ", ", " - ", ", and ") if must else (", ", ", ", ", ", " - "))
        if asked and not must:
            joint = random.choice(("? ", ", "))
        text += joint + random.choice((", ", " and ", ", ")).join(said.last)
    polite = re.search("please|thanks", text)
    return text if polite else text + random.choice(("", "", "", "", "", "", ", thanks", " if you have it", " please"))


def _run_together(phrases: Sequence[str]) -> list[str]:
    """Two phrases that begin alike become one: with a belt and pockets."""
    if len(phrases) == 2 and phrases[0].split()[0] == phrases[1].split()[0] in ("with", "for"):
        return [f"{phrases[0]} and {phrases[1].partition(' ')[2]}"]
    return list(phrases)


def _mistyped(random: Random, text: str) -> str:
    """The same text with a word or two spelt wrong."""
    words = text.split(" ")
    long = [place for place, word in enumerate(words) if len(word) > 4 and word.isalpha()]
    for place in random.sample(long, min(len(long), random.choice((1, 1, 2)))):
        word = words[place]
        at = random.randrange(1, len(word) - 2)
        slip = random.choice(("swap", "drop", "double"))
        if slip == "swap":
            word = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        elif slip == "drop":
            word = word[:at] + word[at + 1 :]
        else:
            word = word[:at] + word[at] + word[at:]
        words[place] = word
    return " ".join(words)
