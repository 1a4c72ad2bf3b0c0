"""What somebody who shops, or who teaches an agent to, notices of WebShop beyond the golden files."""

import itertools
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envs import Action, EnvError, Step, TextEnv, UnknownTask, check, make
from envs.webshop import WebShop
from envs.webshop.pages import Mode
from tests.envs.conftest import product, wish

ShopFolder = Callable[..., Path]


def do(world: WebShop, *actions: str) -> Step:
    """Do actions that must all be possible, and return the last step."""
    for action in actions:
        step = world.step(action)
        assert not step.info["invalid"], (action, step.info)
    return step


def labels(step: Step, kind: str) -> list[str]:
    return [action.label for action in step.observation.actions if action.kind == kind]


@pytest.mark.parametrize("goals", ["human", "synthetic"])
@pytest.mark.parametrize("quirks", [True, False])
@pytest.mark.parametrize("mode", ["text", "text_rich", "react"])
def test_it_keeps_the_contract(official: Path, mode: Mode, quirks: bool, goals: Any) -> None:
    check(WebShop(official, mode, quirks, goals), episodes=5)


def test_the_registry_makes_it(official: Path) -> None:
    world = make("webshop", official)
    assert isinstance(world, TextEnv)
    assert len(world.tasks()) == 10


def test_actions_say_what_they_are(official: Path) -> None:
    world = WebShop(official)
    assert world.reset("2").actions == (Action("search[<keywords>]", "Search", "search", typed=True),)
    results = do(world, "search[deodorant]").observation
    assert results.kind == "results"
    assert results.actions == (
        Action("click[back to search]", "Back to Search", "back"),
        Action("click[next >]", "Next >", "page"),
        Action("click[b0aaaaaa02]", "Lavender Field Deodorant Stick, Long Lasting, 2.7 oz · $7.5 to $15.0", "open"),
        Action(
            "click[b0aaaaaa01]",
            "Citrus Grove Natural Deodorant for Sensitive Skin, Aluminum Free, 3 Ounce · $10.99",
            "open",
        ),
    )
    assert [action.kind for action in do(world, "click[next >]").observation.actions] == ["back", "page", "page"]
    item = do(world, "click[< prev]", "click[b0aaaaaa01]", "click[bright citrus]").observation
    assert item.kind == "item"
    assert item.actions == (
        Action("click[back to search]", "Back to Search", "back"),
        Action("click[< prev]", "< Prev", "back"),
        Action("click[description]", "Description", "detail"),
        Action("click[features]", "Features", "detail"),
        Action("click[reviews]", "Reviews", "detail"),
        Action("click[buy now]", "Buy Now", "buy"),
        Action("click[bright citrus]", "scent: bright citrus (chosen)", "option"),
        Action("click[calming lavender]", "scent: calming lavender", "option"),
        Action("click[ginger | lime]", "scent: ginger | lime", "option"),
        Action("click[3 ounce (pack of 1)]", "size: 3 ounce (pack of 1)", "option"),
        Action("click[3 ounce (pack of 2)]", "size: 3 ounce (pack of 2)", "option"),
    )
    assert do(world, "click[features]").observation.kind == "other"
    end = do(world, "click[< prev]", "click[buy now]")
    assert (end.observation.kind, end.observation.actions, end.terminated) == ("other", (), True)


def test_the_last_step_says_what_the_reward_is_made_of(official: Path) -> None:
    world = WebShop(official)
    world.reset("2")
    end = do(world, "search[citrus deodorant]", "click[b0aaaaaa01]", "click[bright citrus]", "click[buy now]")
    parts = {name: end.info[name] for name in ("r_type", "r_att", "r_option", "r_price")}
    assert parts == {"r_type": 1.0, "r_att": 1.0, "r_option": 0.5, "r_price": True}
    assert end.reward == 0.75


def test_an_invalid_action_says_why(official: Path) -> None:
    world = WebShop(official)
    world.reset("0")
    step = world.step("click[buy now]")
    assert (step.info["invalid"], step.reward) == (True, 0.0)
    assert step.info["why"] == "There is no 'click[buy now]' on this page."


@pytest.mark.parametrize("task", ["10", "-1", "00", "١", "", "own:", "own:  ", "zero"])
def test_an_unknown_task_says_which_there_are(official: Path, task: str) -> None:
    with pytest.raises(UnknownTask, match="Take one from '0' to '9', or 'own:' followed by an instruction"):
        WebShop(official).reset(task)


def test_a_step_before_the_task_is_refused(official: Path) -> None:
    world = WebShop(official)
    with pytest.raises(EnvError, match="call reset first"):
        world.step("search[lamp]")


def test_an_instruction_in_ones_own_words_has_no_reward_of_its_own(official: Path) -> None:
    world = WebShop(official)
    first = world.reset("own: something for my niece, under 20 dollars ")
    assert "something for my niece, under 20 dollars" in first.text
    end = do(world, "search[candle]", "click[b0cccccc04]", "click[buy now]")
    assert (end.terminated, end.reward, end.info) == (True, 0.0, {"invalid": False})
    assert "something for my niece" not in world.reset("0").text


@pytest.mark.parametrize(("mode", "goals"), [("html", "human"), ("text", "robots")])
def test_an_unknown_mode_or_kind_of_goals_is_refused(official: Path, mode: Any, goals: Any) -> None:
    with pytest.raises(ValueError, match="The mode is text, text_rich or react, and goals are human or synthetic"):
        WebShop(official, mode, goals=goals)


def test_two_shops_share_one_stock_and_no_visit(official: Path) -> None:
    one, other = WebShop(official), WebShop(official, "text")
    assert one.stock is other.stock
    one.reset("0")
    other.reset("0")
    do(one, "search[lamp]", "click[b0cccccc01]", "click[gold]")
    assert do(other, "search[tea]").observation.kind == "results"
    assert "[[gold]]" in do(one, "click[features]", "click[< prev]").observation.text


def test_files_that_changed_are_read_again(shop_folder: ShopFolder) -> None:
    before = WebShop(shop_folder())
    folder = shop_folder(items=[product(name="Blue Silk Tie")])
    (folder / "items_shuffle.json").touch()
    after = WebShop(folder)
    assert before.stock.products["B000000001"].title == "Red Cotton Scarf"
    assert after.stock.products["B000000001"].title == "Blue Silk Tie"


def test_the_first_500_goals_are_for_testing(shop_folder: ShopFolder) -> None:
    world = WebShop(shop_folder(instructions={"B000000001": [wish() for _ in range(520)]}))
    assert [task.id for task in world.tasks() if task.split == "train"] == [str(number) for number in range(500, 520)]


def test_nobody_elses_dice_are_touched(shop_folder: ShopFolder) -> None:
    items = [product(f"B{number:09}", pricing="$5.00$9.00") for number in range(60)]
    random.seed(1)
    state = random.getstate()
    world = WebShop(shop_folder(items, {}, {"B000000001": [wish()]}))
    world.reset("0", seed=4)
    drawn = do(world, "search[<r>]").observation
    world.reset("0", seed=4)
    assert do(world, "search[<r>]").observation == drawn
    world.reset("0", seed=5)
    assert do(world, "search[<r>]").observation != drawn
    assert random.getstate() == state


def test_the_language_model_is_loaded_at_the_first_purchase_only(official: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from envs.webshop import WebShop\n"
        f"world = WebShop(Path({str(official)!r})); world.reset('0'); world.step('search[lamp]')\n"
        "world.step('click[b0cccccc02]'); assert 'spacy' not in sys.modules\n"
        "step = world.step('click[buy now]'); assert 'spacy' in sys.modules; print(step.reward)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.stdout == "1.0\n", run.stderr


STRANGE = "<script>alert('x')</script> \"quoted\" & 5\u2032 caf\u00e9\u2028next [SEP] 🙂 {{ 7*7 }} %s"


@pytest.mark.parametrize("mode", ["text", "text_rich", "react"])
def test_what_a_seller_wrote_stays_as_it_is(shop_folder: ShopFolder, mode: Mode) -> None:
    strange = product(name=STRANGE, full_description=STRANGE, small_description=[STRANGE])
    world = WebShop(shop_folder([strange], instructions={"B000000001": [wish(instruction=STRANGE)]}), mode)
    assert STRANGE in world.reset("0").text
    results = do(world, "search[caf\u00e9]")
    assert STRANGE in results.observation.text
    assert labels(results, "open") == [f"{STRANGE} · $12.0"]
    assert STRANGE in do(world, "click[b000000001]").observation.text
    assert STRANGE in do(world, "click[description]").observation.text
    assert STRANGE in do(world, "click[< prev]", "click[features]").observation.text


def test_empty_texts_leave_no_holes(shop_folder: ShopFolder) -> None:
    bare = product(name="Scarf", full_description="", small_description=[], customization_options="")
    world = WebShop(shop_folder([bare]), "text_rich")
    world.reset("0")
    text = do(world, "search[scarf]", "click[b000000001]", "click[features]").observation.text
    assert text.endswith("[button] < Prev [button_]\n")
    assert do(world, "click[< prev]", "click[description]").observation.text == text


# Every quirk of the official engine beside its mended form.


def options(**groups: list[str]) -> dict[str, Any]:
    return product(
        customization_options={name: [{"value": value} for value in group] for name, group in groups.items()}
    )


def at_the_item(folder: Path, quirks: bool) -> WebShop:
    world = WebShop(folder, quirks=quirks)
    world.reset("0")
    do(world, "search[scarf]", "click[b000000001]")
    return world


@pytest.mark.parametrize(("quirks", "score"), [(True, 1.0), (False, 2 / 3)])
def test_x_large_for_large(shop_folder: ShopFolder, quirks: bool, score: float) -> None:
    world = at_the_item(shop_folder([options(Size=["Large", "X-Large"])]), quirks)
    assert do(world, "click[x-large]", "click[buy now]").reward == pytest.approx(score)


@pytest.mark.parametrize(("quirks", "score"), [(True, 0.75), (False, 1.0)])
def test_the_same_value_in_two_groups(shop_folder: ShopFolder, quirks: bool, score: float) -> None:
    wanted = wish(instruction_options=["6ft", "2-pack"])
    cable = options(Size=["3ft", "6ft"], Style=["2-Pack", "6ft"])
    world = at_the_item(shop_folder([cable], instructions={"B000000001": [wanted]}), quirks)
    clicked = do(world, "click[6ft]")
    assert ("size [3ft][[6ft]]\nstyle [2-pack][[6ft]]" in clicked.observation.text) is quirks
    assert do(world, "click[2-pack]", "click[buy now]").reward == score


def test_a_value_in_two_groups_can_be_had_in_both(shop_folder: ShopFolder) -> None:
    world = at_the_item(shop_folder([options(Size=["6ft"], Style=["6ft"])]), quirks=False)
    assert labels(do(world, "click[6ft]"), "option") == ["style: 6ft"]
    assert labels(do(world, "click[6ft]"), "option") == ["style: 6ft (chosen)"]
    assert "size [[6ft]]\nstyle [[6ft]]" in do(world, "click[6ft]").observation.text


@pytest.mark.parametrize("value", ['15" neck', "crème"])
@pytest.mark.parametrize("quirks", [True, False])
def test_quotes_and_accents_in_a_chosen_option(shop_folder: ShopFolder, quirks: bool, value: str) -> None:
    world = at_the_item(shop_folder([options(Size=[value, "small"])]), quirks)
    chosen = do(world, f"click[{value}]")
    assert (f"[[{value}]]" in chosen.observation.text) is not quirks
    assert labels(chosen, "option")[0] == f"size: {value} (chosen)"


@pytest.mark.parametrize("quirks", [True, False])
def test_a_searched_word_looks_chosen(shop_folder: ShopFolder, quirks: bool) -> None:
    world = WebShop(shop_folder(), quirks=quirks)
    world.reset("0")
    item = do(world, 'search["small" scarf]', "click[b000000001]")
    assert ("[[small]]" in item.observation.text) is quirks
    assert labels(item, "option") == ["size: small", "size: large"]


@pytest.mark.parametrize("name", ["reviews", "buy now", "< prev"])
def test_an_option_called_like_a_button(shop_folder: ShopFolder, name: str) -> None:
    wanted = {"B000000001": [wish(instruction_options=[name])]}
    folder = shop_folder([options(Scent=["vanilla", name])], instructions=wanted)
    official_way = at_the_item(folder, quirks=True)
    official_way.step(f"click[{name}]")
    assert official_way.visit is not None
    assert official_way.visit.place != "item"

    mended = at_the_item(folder, quirks=False)
    chosen = do(mended, f"click[{name}]")
    assert chosen.observation.kind == "item"
    assert f"[[{name}]]" in chosen.observation.text
    assert do(mended, f"click[{name}]").observation.kind != "item"


@pytest.mark.parametrize(
    ("quirks", "kind", "shown"), [(True, "other", "\n cotton "), (False, "item", "[[attributes]]")]
)
def test_an_option_called_attributes(shop_folder: ShopFolder, quirks: bool, kind: str, shown: str) -> None:
    world = at_the_item(shop_folder([options(Scent=["Attributes"])]), quirks)
    step = do(world, "click[attributes]")
    assert step.observation.kind == kind
    assert shown in step.observation.text


@pytest.mark.parametrize("quirks", [True, False])
def test_an_option_called_search(shop_folder: ShopFolder, quirks: bool) -> None:
    world = at_the_item(shop_folder([options(Type=["Search", "Rescue"])]), quirks)
    assert world.step("click[search]").info["invalid"] is quirks
    assert len(labels(world.step(""), "option")) == (1 if quirks else 2)


@pytest.mark.parametrize("quirks", [True, False])
def test_next_after_the_last_page(shop_folder: ShopFolder, quirks: bool) -> None:
    items = [product(f"B{number:09}") for number in range(12)]
    world = WebShop(shop_folder(items), "text", quirks)
    world.reset("0")
    assert labels(do(world, "search[scarf]"), "page") == ["Next >"]
    assert labels(do(world, "click[next >]"), "page") == ["< Prev", *(["Next >"] if quirks else [])]
    beyond = world.step("click[next >]")
    assert beyond.info["invalid"] is not quirks
    assert len(labels(beyond, "open")) == (0 if quirks else 2)


@pytest.mark.parametrize("keywords", ["<a> cotton", "<r>", "<c>"])
def test_special_searches(shop_folder: ShopFolder, keywords: str) -> None:
    folder = shop_folder()
    world = WebShop(folder)
    before = world.reset("0")
    step = world.step(f"search[{keywords}]")
    assert step.info["invalid"]
    assert "the official engine" in step.info["why"]
    assert step.observation == before
    mended = WebShop(folder, quirks=False)
    mended.reset("0")
    assert len(labels(do(mended, f"search[{keywords}]"), "open")) == (0 if keywords == "<c>" else 1)


def test_a_category_of_two_words(shop_folder: ShopFolder) -> None:
    folder = shop_folder([product(category="home & garden")])
    for quirks, hits in ((True, 0), (False, 1)):
        world = WebShop(folder, quirks=quirks)
        world.reset("0")
        assert len(labels(do(world, "search[<c> home & garden]"), "open")) == hits


@pytest.mark.parametrize("action", ["CLICK[large]", " click[large]", "click[ Large ]", "click [large]"])
def test_capitals_and_spaces(shop_folder: ShopFolder, action: str) -> None:
    folder = shop_folder()
    assert at_the_item(folder, quirks=True).step(action).info["invalid"]
    assert labels(do(at_the_item(folder, quirks=False), action), "option")[1] == "size: large (chosen)"


def test_brackets_and_line_breaks_in_an_option(shop_folder: ShopFolder) -> None:
    folder = shop_folder([options(Size=["a[b]", "c\nd", "e]f"])])
    assert labels(at_the_item(folder, quirks=True).step(""), "option") == ["size: e]f"]
    mended = at_the_item(folder, quirks=False)
    assert labels(do(mended, "click[a[b]]"), "option") == ["size: a[b] (chosen)", "size: c\nd", "size: e]f"]
    assert labels(do(mended, "click[c\nd]"), "option")[1] == "size: c\nd (chosen)"


@pytest.mark.parametrize("quirks", [True, False])
def test_after_the_purchase(shop_folder: ShopFolder, quirks: bool) -> None:
    world = at_the_item(shop_folder(), quirks)
    bought = do(world, "click[buy now]")
    after = world.step("search[scarf]")
    assert after.info["invalid"] is not quirks
    assert not after.terminated
    assert (after.observation == bought.observation) is not quirks


@pytest.mark.parametrize("quirks", [True, False])
def test_searching_from_another_page(shop_folder: ShopFolder, quirks: bool) -> None:
    world = at_the_item(shop_folder(), quirks)
    assert world.step("search[scarf]").info["invalid"] is not quirks


def test_every_goal_of_the_official_shop_but_one_can_be_met(official: Path) -> None:
    """The HDMI cable cannot, with quirks: its two options cannot both be chosen."""
    scores = {}
    for quirks, task in itertools.product((True, False), WebShop(official).tasks()):
        world = WebShop(official, "text", quirks)
        goal = world.stock.goals[task.id]
        world.reset(task.id)
        do(world, f"search[{goal.name}]", f"click[{goal.asin.lower()}]")
        for option in goal.options:
            do(world, f"click[{option}]")
        scores[quirks, goal.asin] = do(world, "click[buy now]").reward
    assert {each: score for each, score in scores.items() if score < 1} == {(True, "B0DDDDDD03"): 0.75}
