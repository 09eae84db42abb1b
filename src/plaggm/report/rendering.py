"""HTML pages: one style, one content security policy, and one way to embed data in a script."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache
from html.parser import HTMLParser
from importlib import resources
from typing import Any

STYLES = ("page.css",)
# Options of the command line in a sentence.
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def render_page(
    template: str,
    *,
    scripts: Sequence[str] = (),
    payload: Any = None,
    frames: Sequence[str] = (),
    **content: Any,
) -> str:
    """Fill a template that extends ``base.html.j2``.

    All text is escaped. A content security policy allows the style and the script of the page by their
    hashes, and embedded pictures, so that nothing is loaded from elsewhere.

    Parameters
    ----------
    template : str
        File in ``templates``.
    scripts : sequence of str
        Files in ``static``, in this order: each uses what those before it define.
    payload : object, optional
        Data for the scripts, which JSON can represent.
    frames : sequence of str
        Pages whose scripts may run in a frame of this page.
    **content
        Variables of the template.

    Returns
    -------
    str
    """
    style = "\n".join(map(_static, STYLES))
    script = "\n".join(['(() => {\n"use strict";', *map(_static, scripts), "})();"])
    return (
        _environment()
        .get_template(template)
        .render(
            policy=security_policy(style, script if scripts else None, frames),
            style=style,
            script=script if scripts else None,
            payload=None if payload is None else script_json(payload),
            **content,
        )
    )


def security_policy(style: str, script: str | None = None, frames: Sequence[str] = ()) -> str:
    """Content security policy of a page with one style and at most one script.

    Parameters
    ----------
    style, script : str
        Their content.
    frames : sequence of str
        Pages shown in a sandboxed frame, which inherits the policy. Their scripts are allowed by their
        hashes. Those of Plotly, with which nilearn draws, also compile functions and fill an empty style.

    Returns
    -------
    str
    """
    styles = [_hash(style)]
    scripts = [] if script is None else [_hash(script)]
    if frames:
        inline = dict.fromkeys(text for frame in frames for text in inline_scripts(frame))
        scripts += [*map(_hash, inline), "'unsafe-eval'"]
        styles.append(_hash(""))
    sources = {
        "default-src": ["'none'"],
        "img-src": ["data:"],
        "style-src": styles,
        "script-src": scripts or ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }
    return "; ".join(" ".join([name, *allowed]) for name, allowed in sources.items())


def script_json(content: Any) -> str:
    r"""JSON that is safe inside a ``<script>`` element.

    No name can close the element or open another, since "<", ">" and "&" are written as escapes.

    Examples
    --------
    >>> script_json("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def inline_scripts(page: str) -> list[str]:
    """Content of the script elements of a page.

    Examples
    --------
    >>> inline_scripts("<script>if (a < b) go()</script><p>text<script>stop()</script>")
    ['if (a < b) go()', 'stop()']
    """
    reader = _Scripts()
    reader.feed(page)
    reader.close()
    return reader.found


class _Scripts(HTMLParser):
    """Collects the content of script elements."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.inside = tag == "script"
        if self.inside:
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.found[-1] += data


@cache
def _environment() -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise ImportError("The page needs jinja2: pip install 'plaggm[cli]'") from error
    environment = Environment(
        loader=PackageLoader("plaggm.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["options"] = _unbroken_options
    return environment


def _unbroken_options(text: str) -> Any:
    """A sentence as HTML in which options of the command line are not broken across lines."""
    from markupsafe import Markup, escape

    return Markup(OPTION.sub(r'<span class="option">\g<0></span>', str(escape(text))))


def _static(name: str) -> str:
    return (resources.files("plaggm.report") / "static" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The hash by which a content security policy names an inline script or style."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
