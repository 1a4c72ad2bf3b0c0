"""How people ask for a product in our own shop: many voices, some in a hurry, some who cannot spell."""

from collections.abc import Mapping, Sequence
from random import Random

_OPENINGS = (
    "i'm looking for {thing}", "i am looking for {thing}", "i need {thing}", "i want {thing}", "looking for {thing}",
    "need {thing}", "can you find me {thing}?", "could you please find {thing}?", "find me {thing}", "show me {thing}",
    "do you have {thing}?", "where can i get {thing}?", "i would like to buy {thing}", "i'd love {thing}", "{thing}",
    "{thing} please", "{thing}, thanks", "hi! i am after {thing}", "hey, got any {thing}?", "yo i need {thing} asap",
    "gotta have {thing}", "gimme {thing}", "is there {thing}?", "help me find {thing}", "i wanna buy {thing}",
    "searching for {thing}", "shopping for {thing} today", "any chance you sell {thing}?", "please get me {thing}",
    "trying to find {thing}", "i could really use {thing}", "let's order {thing}", "what i want is {thing}",
)  # fmt: skip
_STORIES = (
    "my {who} wants {thing}", "my {who} has a birthday soon and asked for {thing}", "i need {thing} for my {who}",
    "the old one broke so i need {thing}", "we just moved in and still need {thing}", "can't find mine, so {thing}",
    "{thing} for my {who}, nothing fancy", "my {who} keeps talking about {thing}, can you get it?",
    "i promised my {who} {thing}", "it's a present for my {who}: {thing}", "ran out again. need {thing}",
    "we are going away on friday and i want {thing}", "saw it at my {who}'s place and now i want {thing} too",
)  # fmt: skip
_WHO = (
    "daughter",
    "son",
    "husband",
    "wife",
    "mom",
    "dad",
    "roommate",
    "boss",
    "neighbor",
    "grandma",
    "brother",
    "sister",
)
_ENDINGS = ("", "", "", "", ".", ".", "!", " thx", " if you have it", ", and quick")
_BEFORE = ("", "", "", "", "", "some ", "a ", "a good ", "really nice ")
_AND = (", ", " and ", ", and ", " ")

# By group of options, and for all other groups.
_OPTION = {
    "color": (
        "in {value}",
        "in {value} color",
        "{value} colored",
        "the color should be {value}",
        "{value} if possible",
    ),
    "size": ("size {value}", "in size {value}", "in {value}", "the size is {value}", "{value} size"),
    "scent": ("with {value} scent", "{value} scent", "that smells of {value}", "scented {value}"),
    "flavor": ("{value} flavor", "in {value} flavor", "flavored {value}", "the {value} one"),
    "pack": ("{value}", "pack: {value}", "as {value}", "i take the {value}"),
    "length": ("{value} long", "{value} in length", "it must be {value}"),
    "model": ("for my {value}", "that fits the {value}", "{value} model"),
}
_ANY_OPTION = ("{value}", "with {group} {value}", "{group} {value}", "{group} should be {value}", "the {value} {group}")
_ATTRIBUTE = ("that is {name}", "it has to be {name}", "{name} please", "must be {name}", "which is {name}")
_THING = ("with {name}", "that has {name}", "it should have {name}", "featuring {name}")
# Attributes that something has; what is not among them, it is.
_HAD = (
    "arch support", "memory foam", "rubber sole", "usb port", "stereo sound", "natural ingredients", "seed oil",
    "tea tree", "baking soda", "auto focus", "quiet keys", "padded straps", "large capacity", "hidden zipper",
    "wood frame", "foot pads", "drainage hole", "simple ingredients", "elastic waist", "high waist", "v neck",
    "short sleeve", "long sleeve", "button closure", "tummy control", "odor control", "noise reduction",
    "overcharge protection", "eye protection", "touch control", "wireless connection", "long lasting battery",
    "breathable mesh", "synthetic hair", "high heel", "open toe", "quick release", "high power", "high speed",
)  # fmt: skip


def wish(random: Random, names: Sequence[str], attributes: Sequence[str], options: Mapping[str, str]) -> str:
    """Make up how somebody asks for something that is called one of `names`, with these attributes and options
    (group to value). All of them are in it, in words."""
    before, after = [], []
    for name in attributes:
        if random.random() < 0.45:
            before.append(name)
        else:
            after.append(random.choice(_THING if name in _HAD else _ATTRIBUTE).format(name=name))
    for group, value in options.items():
        if group == "color" and random.random() < 0.35:
            before.append(value)
        else:
            after.append(random.choice(_OPTION.get(group, _ANY_OPTION)).format(group=group, value=value))
    random.shuffle(before)
    random.shuffle(after)
    # What people call it first is what the shop calls it, and what most of them say.
    name = names[0] if random.random() < 0.6 else random.choice(names)
    thing = random.choice(_BEFORE) + " ".join([*before, name])
    joint = random.choice(_AND)
    thing = " ".join([thing, joint.join(after)]) if random.random() < 0.7 else ", ".join([thing, *after])
    pattern = random.choice(_STORIES if random.random() < 0.25 else _OPENINGS)
    said = pattern.format(thing=thing.strip(), who=random.choice(_WHO))
    if not pattern.endswith("?"):
        said += random.choice(_ENDINGS)
    if random.random() < 0.25:
        said = _mistyped(random, said)
    return said[0].upper() + said[1:] if random.random() < 0.15 else said


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
