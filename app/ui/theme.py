"""Colours, type and spacing for Gradio's own components; style.css does the rest on the same variables."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import gradio as gr


def theme() -> "gr.themes.Base":
    """Teal on slate, with fonts that every machine has: nothing is fetched from elsewhere."""
    import gradio as gr

    return gr.themes.Base(
        primary_hue="teal",
        neutral_hue="slate",
        radius_size="lg",
        font=["system-ui", "sans-serif"],
        font_mono=["ui-monospace", "monospace"],
    ).set(
        button_primary_background_fill="#0f766e",
        button_primary_background_fill_hover="#115e59",
        button_primary_text_color="#ffffff",
        button_primary_background_fill_dark="#2dd4bf",
        button_primary_background_fill_hover_dark="#5eead4",
        button_primary_text_color_dark="#042f2e",
    )
