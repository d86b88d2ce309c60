#!/usr/bin/env python3
"""Makes the images of this folder with Pillow (Debian's python3-pil), which Kiln must reproduce.

    /usr/bin/python3 tests/data/images/make_images.py tests/data/images

`photo.ppm` and `grey.pgm` are pixels from a fixed generator: smooth waves, edges of full contrast
and noise. Each other .ppm or .pgm is one of them after torchvision's Resize and CenterCrop, written
out here with Pillow because Debian lacks torchvision; the name says the sizes. The compressed files
are pixels of the same generator, and the .ppm or .pgm beside each is what Pillow decodes.
"""
import math
import pathlib
import sys

from PIL import Image, ImageOps


def pixels(width, height, channels):
    """Returns rows of samples from waves, edges and a linear congruential generator."""
    state = 1
    data = bytearray()
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                state = (state * 1103515245 + 12345) % 2**31
                wave = 127.5 + 100 * math.sin(0.3 * x + 0.2 * y + c)
                edge = 255 if (x // 5 + y // 7) % 2 else 0
                noise = state >> 23
                data.append(int(edge if (x + c) % 3 == 0 else (3 * wave + noise) / 4) % 256)
    mode = "RGB" if channels == 3 else "L"
    return Image.frombytes(mode, (width, height), bytes(data))


def resize(image, size, interpolation):
    """Is transforms.Resize(size): an int is the shorter side, a pair is (height, width)."""
    if isinstance(size, int):
        width, height = image.size
        short, long = min(width, height), max(width, height)
        longer = int(size * long / short)
        size = (longer, size) if width <= height else (size, longer)
    return image.resize((size[1], size[0]), interpolation)


def center_crop(image, height, width):
    """Is transforms.CenterCrop((height, width))."""
    have_width, have_height = image.size
    if width > have_width or height > have_height:
        across, down = max(width - have_width, 0), max(height - have_height, 0)
        border = (across // 2, down // 2, (across + 1) // 2, (down + 1) // 2)
        image = ImageOps.expand(image, border, fill=0)
        have_width, have_height = image.size
    top = int(round((have_height - height) / 2.0))
    left = int(round((have_width - width) / 2.0))
    return image.crop((left, top, left + width, top + height))


def main():
    folder = pathlib.Path(sys.argv[1])
    photo, grey = pixels(37, 23, 3), pixels(19, 31, 1)
    photo.save(folder / "photo.ppm")
    grey.save(folder / "grey.pgm")
    bilinear, bicubic = Image.Resampling.BILINEAR, Image.Resampling.BICUBIC
    shrunk = resize(photo, 16, bilinear)
    shrunk.save(folder / "photo_16.ppm")
    center_crop(shrunk, 11, 12).save(folder / "photo_16_crop11x12.ppm")
    resize(photo, 40, bilinear).save(folder / "photo_40.ppm")
    resize(photo, 9, bicubic).save(folder / "photo_9_bicubic.ppm")
    resize(photo, 31, bicubic).save(folder / "photo_31_bicubic.ppm")
    resize(grey, (8, 30), bilinear).save(folder / "grey_8x30.pgm")
    center_crop(grey, 24, 24).save(folder / "grey_crop24.pgm")
    center_crop(grey, 36, 10).save(folder / "grey_crop36x10.pgm")

    photo.save(folder / "colour.jpg", quality=90)  # with chroma at half the resolution
    photo.save(folder / "progressive.jpg", quality=95, progressive=True, subsampling=0)
    grey.save(folder / "grey.jpg", quality=90)
    photo.save(folder / "colour.png")
    grey.save(folder / "grey.png", compress_level=1)
    photo.quantize(16, dither=Image.Dither.NONE).save(folder / "palette.png", bits=4)
    alpha = photo.copy()
    alpha.putalpha(photo.getchannel("G"))
    alpha.save(folder / "alpha.png")
    grey.point(lambda x: 255 * (x > 127)).convert("1").save(folder / "bits.png")
    photo.convert("CMYK").save(folder / "cmyk.jpg")
    for name in ["colour.jpg", "progressive.jpg", "palette.png", "alpha.png"]:
        Image.open(folder / name).convert("RGB").save(folder / f"{name}.ppm")
    for name in ["grey.jpg", "bits.png"]:
        Image.open(folder / name).convert("L").save(folder / f"{name}.pgm")
    # Colours as the network of one channel sees them, and grey as the one of three does.
    Image.open(folder / "colour.png").convert("L").save(folder / "colour.png.grey.pgm")


if __name__ == "__main__":
    main()
