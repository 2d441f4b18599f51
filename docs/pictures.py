"""Moving pictures of the gallery, for the website: ``python docs/pictures.py build/pictures``.

Each example is run once; a picture that is there is made anew only when the example's file or the
version has changed.
"""

from __future__ import annotations

import sys
import tempfile
from hashlib import sha256
from pathlib import Path

from PIL import Image, ImageSequence

import mechgraph as mg

SIZE, FRAMES, SECONDS = (420, 280), 12, 5.0


def picture(name: str, folder: Path) -> None:
    """The example's motion as an animated WebP, which is a third of a GIF; slow motion, if it is
    over too soon."""
    example = mg.gallery.load(name)
    system = example.system()
    run = system.equations().simulate(
        example.duration, example.start, guess=example.guess, **example.options
    )
    with tempfile.TemporaryDirectory() as work:
        gif = run.view(
            Path(work) / "run.gif", speed=example.duration / SECONDS, size=SIZE, frames=FRAMES
        )
        with Image.open(gif) as moving:
            frames = [frame.convert("RGB") for frame in ImageSequence.Iterator(moving)]
    frames[0].save(
        folder / f"{name}.webp", save_all=True, append_images=frames[1:],
        duration=1000 // FRAMES, loop=0, quality=60, method=3,
    )  # fmt: skip


def seal(name: str) -> str:
    """What tells this picture from another one."""
    example = mg.gallery.load(name).path.read_bytes() + Path(__file__).read_bytes()
    return sha256(example + mg.__version__.encode()).hexdigest()


def main(folder: Path) -> None:
    """All pictures that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in mg.gallery.names():
        note = folder / f"{name}.sha256"
        if not note.exists() or note.read_text() != seal(name):
            picture(name, folder)
            note.write_text(seal(name))
            print(name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
