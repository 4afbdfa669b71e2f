"""Figures: colours that are told apart and read, data that is true, output that is stable."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import plotly.graph_objects as go
import pytest
import torch
from numpy.typing import NDArray

from annotated_transformer import attention, figures, masks
from annotated_transformer.figures import plotly_renderer, quiz, style

QUIZZES = Path(quiz.__file__).parent / "quizzes"

LIGHT_PAGE, DARK_PAGE = "#FFFFFF", "#14181E"
# Machado, Oliveira and Fernandes (2009), full severity, on linear RGB.
COLOUR_VISION = {
    "full": np.eye(3),
    "protanopia": np.array(
        [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]
    ),
    "deuteranopia": np.array(
        [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]
    ),
    "tritanopia": np.array(
        [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]
    ),
}
Vector = NDArray[np.float64]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The bundles that a cell would have shown."""
    bundles: list[dict[str, Any]] = []

    def keep(bundle: dict[str, Any], raw: bool) -> None:
        assert raw
        bundles.append(bundle)

    monkeypatch.setattr(plotly_renderer, "display", keep)
    monkeypatch.setattr(quiz, "display", keep)
    return bundles


def linear(hex_colour: str) -> Vector:
    channels = np.array([int(hex_colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    weights = np.array([0.2126, 0.7152, 0.0722])
    dark, light = sorted(float(linear(colour) @ weights) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


def lab(rgb: Vector) -> Vector:
    """CIELAB (D65) of linear RGB: distances in it follow what the eye tells apart."""
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = to_xyz @ rgb / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("role", style.PALETTE)
def test_a_role_reads_on_its_page(role: str) -> None:
    assert contrast(style.colour(role), LIGHT_PAGE) >= 4.5
    assert contrast(style.colour(role, dark=True), DARK_PAGE) >= 4.5
    # A picture is drawn once, in the light colours: as a graphic it must be seen on both.
    assert contrast(style.colour(role), DARK_PAGE) >= 3.0


def test_text_of_pictures_reads_on_both_pages() -> None:
    assert contrast(style.TEXT, LIGHT_PAGE) >= 4.5
    assert contrast(style.TEXT, DARK_PAGE) >= 3.5


@pytest.mark.parametrize("vision", COLOUR_VISION)
@pytest.mark.parametrize("page", [0, 1], ids=["light", "dark"])
def test_roles_are_told_apart_by_every_eye(vision: str, page: int) -> None:
    seen = {
        role: lab(np.clip(COLOUR_VISION[vision] @ linear(pair[page]), 0, 1))
        for role, pair in style.PALETTE.items()
    }
    for one, other in itertools.combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 12, (one, other)


def test_every_role_has_its_own_letter() -> None:
    assert style.LETTERS.keys() == style.PALETTE.keys()
    assert len(set(style.LETTERS.values())) == len(style.LETTERS)


def test_an_unknown_role_names_the_known_ones() -> None:
    with pytest.raises(KeyError, match="the roles are query, key"):
        style.colour("memory")


@pytest.mark.parametrize("colours", [style.WEIGHT_COLOURS, style.SIGNED_COLOURS])
def test_numbers_in_cells_read(colours: Callable[[float], tuple[float, ...]]) -> None:
    for value in np.linspace(0, 1, 21):
        background = matplotlib.colors.to_hex(colours(float(value)))
        assert contrast(background, style.ink_on(background)) >= 4.5


def test_a_readers_own_plots_keep_their_settings() -> None:
    before = dict(matplotlib.rcParams)
    figures.new_figure(3, 2)
    assert dict(matplotlib.rcParams) == before


def test_steps_of_attention_are_the_packages_numbers() -> None:
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(*s, generator=generator) for s in ((2, 4), (3, 4), (3, 2)))
    mask = torch.tensor([[True, False, True], [True, True, True]])
    data = figures.draw_attention_steps(query, key, value, mask)
    output, weights = attention.scaled_dot_product_attention(query, key, value, mask)
    assert np.allclose(data["weights"], weights)
    assert np.allclose(data["output"], output)
    assert data["scores"][0, 1] == -np.inf
    titles = [axis.get_title() for axis in plt.gcf().axes]
    assert titles[0] == "Q"
    assert "weights (rows sum to 1)" in titles


def legend_of(parent: Any) -> list[str]:
    return [text.get_text() for text in parent.get_legend().get_texts()]


def test_every_axis_of_the_steps_is_named_and_every_colour_explained() -> None:
    query, key, value = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 2.0]]), torch.ones(1, 3)
    figures.draw_attention_steps(-query, key, value)
    named = {axis.get_title(): (axis.get_ylabel(), axis.get_xlabel()) for axis in plt.gcf().axes}
    assert named["Kᵀ"] == ("component", "key\n2 × 1")
    assert all(row and column for row, column in named.values())
    (legend,) = plt.gcf().legends
    meanings = [text.get_text() for text in legend.get_texts()]
    assert meanings == ["below 0", "equal to 0", "above 0", "weight, darker is more"]


def test_weights_have_a_scale_and_named_axes() -> None:
    figures.draw_weights(torch.full((2, 2, 3), 1 / 3), ["a", "b"], list("xyz"), columns=2)
    first, second, bar = plt.gcf().axes
    assert (first.get_ylabel(), first.get_xlabel(), second.get_xlabel()) == ("query", "key", "key")
    assert bar.get_ylabel() == "weight"


def test_a_band_is_named_in_the_legend() -> None:
    curve = figures.Curve([1.0, 2.0], spread=[0.1, 0.2])
    figures.draw_curves([1, 2], {"ours": curve}, "x", "y")
    assert legend_of(plt.gcf().axes[0]) == ["ours", "± one standard deviation"]
    figures.draw_curves([1, 2], {"ours": [1.0, 2.0]}, "x", "y")
    assert legend_of(plt.gcf().axes[0]) == ["ours"]


MANY = {f"layer {number}": [1.0, 2.0] for number in range(8)}


@pytest.mark.parametrize(
    "draw",
    [
        lambda: figures.draw_curves([1, 2], MANY, "x", "y"),
        lambda: figures.draw_bills({"counted": figures.Bill([1, 2], MANY)}, border=1),
        lambda: figures.draw_shares_by_head(MANY, ["1", "2"], 0.5, "x"),
        lambda: figures.draw_roofline(dict.fromkeys(MANY, 1.0), 2.0, 1.0, "a machine"),
        lambda: figures.touch_long_context([1], {"a model": MANY}, "label"),
    ],
)
def test_nothing_is_left_out_of_a_picture_for_want_of_a_look(draw: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="8 things are too many for one picture"):
        draw()


def test_small_matrices_show_every_number() -> None:
    data = figures.draw_matrices([figures.Panel(torch.tensor([[0.25, 3.0]]), "x")])
    assert data["x"].tolist() == [[0.25, 3.0]]
    assert {text.get_text() for text in plt.gcf().axes[0].texts} == {"0.25", "3"}


def test_a_mask_is_told_by_signs_and_hatching() -> None:
    figures.draw_matrices([figures.Panel(masks.causal_mask(2), "causal", "mask")])
    (axis,) = plt.gcf().axes
    assert [text.get_text() for text in axis.texts] == ["✓", "×", "✓", "✓"]
    assert sum(bool(patch.get_hatch()) for patch in axis.patches) == 1


def test_weights_need_a_label_for_each_row_and_column() -> None:
    weights = torch.full((3, 2, 4), 0.25)
    stack = figures.draw_weights(weights, ["a", "b"], list("wxyz"), titles=["1", "2", "3"])
    assert stack.shape == (3, 2, 4)
    with pytest.raises(ValueError, match="2 by 4, but there are 3 queries and 4 keys"):
        figures.draw_weights(weights, ["a", "b", "c"], list("wxyz"))


def test_curves_return_what_they_draw() -> None:
    data = figures.draw_curves(
        [1, 2, 4],
        {
            "measured": figures.Curve([1.0, 1.4, 2.0], spread=[0.1, 0.1, 0.1]),
            "derived": [1, 1.4, 2],
        },
        "x",
        "y",
        log_x=True,
    )
    assert list(data) == ["x", "measured", "derived"]
    axis = plt.gcf().axes[0]
    markers = [line.get_marker() for line in axis.lines]
    assert len(set(markers)) == len(markers)  # told apart without colour


def test_softmax_under_scale_is_the_softmax(shown: list[dict[str, Any]]) -> None:
    data = figures.touch_softmax_scale(d_k=(1, 64, 256), keys=5)
    assert data["unscaled"].shape == (3, 5)
    assert np.allclose(data["unscaled"].sum(axis=1), 1)
    scores = np.log(data["unscaled"])  # up to a constant in each row
    again = torch.tensor(scores / np.sqrt([[1], [64], [256]])).softmax(-1)
    assert np.allclose(again, data["scaled"])
    (bundle,) = shown
    steps = bundle["application/vnd.plotly.v1+json"]["layout"]["sliders"][0]["steps"]
    assert [step["label"] for step in steps] == ["1", "64", "256"]


def test_touching_weights_shows_the_chosen_row(shown: list[dict[str, Any]]) -> None:
    weights = torch.rand(2, 3, 4, generator=torch.Generator().manual_seed(0)).softmax(-1)
    data = figures.touch_weights(
        weights, list("abc"), list("wxyz"), "a label", heads=["one", "two"], start=1
    )
    assert data["top"] == ["wxyz"[int(i)] for i in weights[0].argmax(-1)]
    content = shown[0]["application/vnd.plotly.v1+json"]
    bars = [trace for trace in content["data"] if trace["type"] == "bar"]
    assert np.allclose(bars[0]["y"], weights[0, 1], rtol=1e-4)
    step = content["layout"]["sliders"][0]["steps"][2]
    assert step["label"] == "3: c"
    assert np.allclose(step["args"][0]["y"][1], weights[1, 2], rtol=1e-4)
    assert step["args"][2] == [2, 3]  # the bars, not the heat maps
    button = content["layout"]["updatemenus"][0]["buttons"][1]
    assert button["args"][0]["visible"] == [False, True, False, True]


def test_touching_masks_gives_the_weights_under_each(shown: list[dict[str, Any]]) -> None:
    scores = torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    everything = torch.ones(3, 3, dtype=torch.bool)
    named = {"none": everything, "causal": masks.causal_mask(3), "nothing": ~everything}
    weights = figures.touch_masks(scores, named, list("abc"), "a label")
    assert np.allclose(weights["none"], scores.softmax(-1))
    assert np.allclose(weights["causal"], scores.masked_fill(~named["causal"], -np.inf).softmax(-1))
    assert (weights["nothing"] == 0).all()
    assert (
        len(shown[0]["application/vnd.plotly.v1+json"]["layout"]["updatemenus"][0]["buttons"]) == 3
    )


def test_bundle_is_the_agreed_markup() -> None:
    figure = go.Figure(
        go.Bar(x=["</script>"], y=np.array([1 / 3])), figures.base_layout(height=200)
    )
    label = 'A "label" & more'
    bundle = plotly_renderer.figure_bundle(figure, label)
    match = re.fullmatch(
        r'<div class="plotly-figure" aria-label="([^"]*)" style="min-height:200px">'
        r'<script type="application/json">(.*)</script></div>',
        bundle["text/html"],
    )
    assert match
    assert match[1] == "A &quot;label&quot; &amp; more"
    assert "</script" not in match[2]
    content = json.loads(match[2].replace("<\\/", "</"))
    assert content == bundle["application/vnd.plotly.v1+json"]
    assert set(content) == {"data", "layout", "frames"}
    assert content["data"][0]["y"] == [0.33333]  # and not packed with every last bit
    assert bundle["text/plain"] == label


def test_bundle_is_small_transparent_and_of_no_fixed_width() -> None:
    bundle = plotly_renderer.figure_bundle(go.Figure(layout=figures.base_layout()), "x")
    layout = bundle["application/vnd.plotly.v1+json"]["layout"]
    assert "template" not in layout
    assert "width" not in layout
    assert layout["autosize"]
    assert layout["paper_bgcolor"] == "rgba(0,0,0,0)"
    assert len(bundle["text/html"]) < 1500


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.float64(1 / 3), 0.33333),
        (np.array([[1.0, 2.5]]), [[1, 2.5]]),
        (float("nan"), None),
        (-np.inf, None),
        (123456.789, 123460),
        (True, True),
        ({"a": (1, "b")}, {"a": [1, "b"]}),
    ],
)
def test_stored_numbers_are_short_and_plain(value: Any, plain: Any) -> None:
    assert plotly_renderer.rounded(value) == plain
    json.dumps(plotly_renderer.rounded(value), allow_nan=False)


def test_colab_keeps_its_own_renderer(
    monkeypatch: pytest.MonkeyPatch, shown: list[dict[str, Any]]
) -> None:
    figure = go.Figure()
    calls: list[str] = []
    monkeypatch.setitem(plotly_renderer.sys.modules, "google.colab", object())
    monkeypatch.setattr(go.Figure, "show", lambda self: calls.append("colab"))
    figures.show_figure(figure, "x")
    assert calls == ["colab"]
    assert shown == []


def question(*correct: bool, feedback: str = "because") -> dict[str, Any]:
    answers = [
        {"answer": f"<{i}>", "correct": c, "feedback": feedback} for i, c in enumerate(correct)
    ]
    return {"question": "Which & why?", "answers": answers}


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("d_k = d_model / h", "<i>d</i><sub>k</sub> = <i>d</i><sub>model</sub> / h"),
        ("sqrt(d_k) < W^O", "√<i>d</i><sub>k</sub> &lt; W<sup>O</sup>"),
        ("10000^(-8/8), d^2", "10000<sup>−8/8</sup>, d<sup>2</sup>"),
        ("x.view(2, 8), num_heads, max_positions", "x.view(2, 8), num_heads, max_positions"),
    ],
)
def test_symbols_are_printed_as_in_the_paper(text: str, markup: str) -> None:
    assert quiz.typeset(text) == markup


def test_a_question_that_needs_a_fold_says_which() -> None:
    asked = question(True, False)
    assert "From" not in quiz.quiz_markup([asked])
    assert "<p>1. (From the evidence.) " in quiz.quiz_markup([asked | {"lane": "evidence"}])
    with pytest.raises(KeyError):
        quiz.quiz_markup([asked | {"lane": "nowhere"}])


def test_a_quiz_has_one_right_answer_and_a_word_for_each() -> None:
    assert quiz.checked_questions([question(True, False)])
    with pytest.raises(ValueError, match="Question 2 has 2 right answers"):
        quiz.checked_questions([question(True, False), question(True, True)])
    with pytest.raises(ValueError, match="Question 1 has 0 right answers"):
        quiz.checked_questions([question(False)])
    with pytest.raises(ValueError, match="'<0>' has no feedback"):
        quiz.checked_questions([question(True, feedback=" ")])


@pytest.mark.parametrize("chapter", sorted(path.stem for path in QUIZZES.glob("*.json")))
def test_a_quiz_cannot_be_passed_by_always_choosing_one_place(chapter: str) -> None:
    questions = json.loads((QUIZZES / f"{chapter}.json").read_text("utf-8"))
    places = Counter(
        next(place for place, answer in enumerate(one["answers"]) if answer["correct"])
        for one in questions
    )
    assert max(places.values()) <= 0.6 * len(questions)


def test_quiz_markup_is_stable_and_escaped() -> None:
    markup = quiz.quiz_markup([question(False, True)])
    assert markup == quiz.quiz_markup([question(False, True)])
    assert "&lt;0&gt;" in markup
    assert "Which &amp; why?" in markup
    assert markup.count("<details") == 2
    assert markup.count("✓ Right.") == 1
    assert "<script" not in markup


@pytest.mark.parametrize(
    "topic", sorted(place.stem for place in (quiz.files(quiz.__package__) / "quizzes").iterdir())
)
def test_every_quiz_of_the_book_can_be_shown(topic: str, shown: list[dict[str, Any]]) -> None:
    questions = quiz.load_quiz(topic)
    assert len(questions) >= 5
    figures.show_quiz(topic)
    assert shown[0]["text/html"].count("✓ Right.") == len(questions)
    places = {[a["correct"] for a in one["answers"]].index(True) for one in questions}
    assert len(places) > 1  # the right answer is not always at the same place


def test_labels_are_no_tags() -> None:
    assert plotly_renderer.as_labels(["</s>", "a & b"]) == ["&lt;/s&gt;", "a &amp; b"]
