"""A picture that is painted stroke by stroke from a prompt and a seed, for the local provider."""

import hashlib
import io
import math
import random

from PIL import Image, ImageDraw

Color = tuple[int, int, int]

_MOODS: dict[str, list[str]] = {
    "sunset sunrise dawn dusk desert autumn fire warm": ["2b1055", "7b2d5b", "d9534f", "f7a440", "ffe29a"],
    "ocean sea water lake river rain blue": ["03203c", "0b4f6c", "2a9d8f", "8fd3e8", "f1faee"],
    "forest tree garden spring green meadow jungle": ["10241b", "1b4332", "40916c", "b7d66b", "fefae0"],
    "night space star moon galaxy dark city": ["05051e", "1b1464", "5f27cd", "c471ed", "ffeaa7"],
    "snow winter ice cloud mountain fog light": ["22314a", "5d7ea3", "a8c5da", "e3edf5", "fff7ec"],
    "flower rose love pink dream candy": ["3a0ca3", "b5179e", "f72585", "ff8fab", "ffe5ec"],
}

FLOW_LINES = 420
SHAPES = 14
STROKES = SHAPES + FLOW_LINES


def make_seed(prompt: str) -> int:
    return int.from_bytes(hashlib.sha256(prompt.encode()).digest()[:4])


def encode_png(picture: Image.Image) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def _parse_color(text: str) -> Color:
    return int(text[:2], 16), int(text[2:4], 16), int(text[4:], 16)


def _choose_palette(prompt: str, rng: random.Random) -> list[Color]:
    words = prompt.lower()
    fitting = [colors for mood, colors in _MOODS.items() if any(word in words for word in mood.split())]
    return [_parse_color(color) for color in rng.choice(fitting or list(_MOODS.values()))]


class Painting:
    """The same prompt, seed and size always give the same bytes."""

    def __init__(self, prompt: str, seed: int, width: int, height: int, under: Image.Image | None = None) -> None:
        # Two generators, so that the choice of the palette does not change the strokes.
        self._rng = random.Random(seed)  # noqa: S311
        self._palette = _choose_palette(prompt, random.Random(seed ^ make_seed(prompt)))  # noqa: S311
        self._size = (width, height)
        # Painted in twice the size and reduced at the end, edges are smooth. Large pictures do not need it.
        self._scale = 2 if max(width, height) <= 1024 else 1
        self._canvas = self._make_ground(under)
        self._brush = ImageDraw.Draw(self._canvas, "RGBA")
        self._waves = [
            (self._rng.uniform(0.6, 3.2), self._rng.uniform(0, math.tau), self._rng.uniform(0, math.tau))
            for _ in range(4)
        ]
        self.strokes = 0

    def paint(self, until: int) -> None:
        """Paints until so many of the STROKES are on the canvas."""
        for stroke in range(self.strokes, min(until, STROKES)):
            if stroke < SHAPES:
                self._draw_shape(stroke)
            else:
                self._draw_flow_line()
            self.strokes = stroke + 1

    def encode(self) -> bytes:
        picture = self._canvas if self._scale == 1 else self._canvas.reduce(self._scale)
        return encode_png(picture)

    def _make_ground(self, under: Image.Image | None) -> Image.Image:
        """Returns the given picture, or a few blended colors, dark above and light below."""
        size = (self._size[0] * self._scale, self._size[1] * self._scale)
        if under is not None:
            return under.convert("RGB").resize(size, Image.Resampling.LANCZOS)
        mesh = Image.new("RGB", (4, 4))
        for y in range(4):
            for x in range(4):
                color = self._palette[min(4, max(0, y + self._rng.choice((-1, 0, 0, 1))))]
                mesh.putpixel((x, y), color)
        return mesh.resize(size, Image.Resampling.BICUBIC)

    def _draw_shape(self, number: int) -> None:
        """Draws a translucent disc or ring; the first ones are the largest."""
        width, height = self._canvas.size
        radius = min(width, height) * (0.34 - 0.02 * number) * self._rng.uniform(0.6, 1.1)
        x, y = self._rng.uniform(0, width), self._rng.uniform(0, height)
        box = (x - radius, y - radius, x + radius, y + radius)
        color = self._rng.choice(self._palette)
        if self._rng.random() < 0.6:
            self._brush.ellipse(box, fill=(*color, self._rng.randint(24, 70)))
        else:
            self._brush.ellipse(box, outline=(*color, 110), width=max(1, round(radius * 0.04)))

    def _draw_flow_line(self) -> None:
        """Draws a line that follows a smooth field of directions, so that neighboring lines are parallel."""
        width, height = self._canvas.size
        step = max(width, height) / 110
        x, y = self._rng.uniform(-0.05, 1.05) * width, self._rng.uniform(-0.05, 1.05) * height
        points = [(x, y)]
        for _ in range(self._rng.randint(14, 46)):
            angle = self._compute_direction(x / width, y / height)
            x, y = x + math.cos(angle) * step, y + math.sin(angle) * step
            points.append((x, y))
        color = self._rng.choice(self._palette)
        thickness = max(1, round(min(width, height) * self._rng.choice((0.001, 0.002, 0.002, 0.005))))
        self._brush.line(points, fill=(*color, self._rng.randint(70, 190)), width=thickness, joint="curve")

    def _compute_direction(self, x: float, y: float) -> float:
        total = sum(
            math.sin(pitch * x * math.tau + a) + math.cos(pitch * y * math.tau + b) for pitch, a, b in self._waves
        )
        return total * 0.7
