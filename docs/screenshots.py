"""Take the pictures of the demo and its page that stand in this folder.

plaggm demo --output plaggm-demo
python docs/screenshots.py plaggm-demo/report.html
"""

from __future__ import annotations

import base64
import io
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from selenium import webdriver

HERE = Path(__file__).parent
COLOURS = 128
# Width, height and pixels for each CSS pixel; whether dark; what is done on the page first.
SHOTS: dict[str, tuple[int, int, float, bool, str]] = {
    "report-desktop.png": (1280, 1210, 1.0, False, ""),
    "report-phone.png": (390, 1500, 1.5, False, "scrollTo(0, 0)"),
    "report-dark.png": (
        1280,
        980,
        1.0,
        True,
        "const s = document.getElementById('g-slider'); s.value = 0.7 * s.max;"
        "s.dispatchEvent(new Event('input'));"
        "document.getElementById('network').scrollIntoView({behavior: 'instant'})",
    ),
}


def open_browser() -> Any:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    profile = tempfile.mkdtemp()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={profile}")
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver") or "")
    return webdriver.Chrome(options=options, service=service)


def main(page: Path) -> None:
    browser = open_browser()
    try:
        for name, (width, height, scale, dark, script) in SHOTS.items():
            size = {"width": width, "height": height, "deviceScaleFactor": scale}
            size["mobile"] = width < 600
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
            browser.get(page.resolve().as_uri())
            browser.execute_script(script)
            browser.execute_async_script("setTimeout(arguments[0], 500)")
            shot = browser.execute_cdp_cmd("Page.captureScreenshot", {})
            save(io.BytesIO(base64.b64decode(shot["data"])), name)
    finally:
        browser.quit()
    save(page.parent / "figures" / "truth.png", "demo.png")


def save(picture: Any, name: str) -> None:
    Image.open(picture).convert("RGB").quantize(COLOURS).save(HERE / name, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
