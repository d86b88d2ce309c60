// Resizes and crops images of 8-bit samples with the bits of torchvision's Resize and CenterCrop on
// a PIL image, as scripts that train and evaluate classifiers use them.
//   sources  Pillow, Image.resize (libImaging/Resample.c): the filters and their fixed-point sums
//            torchvision, transforms.functional resize and center_crop: sizes and positions
#ifndef KILN_FRONTEND_IMAGE_RESIZE_H_
#define KILN_FRONTEND_IMAGE_RESIZE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kiln {

// The size of an image in pixels.
struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

// A filter of Image.resize. When an image shrinks, both widen by the reduction (antialiasing).
enum class Interpolation : uint8_t {
  kBilinear,  // a triangle that reaches one pixel to each side
  kBicubic,   // a cubic convolution with a = -0.5 that reaches two
};

// Returns the size of an image whose shorter side becomes `shorter`. The longer side keeps the
// ratio, rounded down, as Resize(shorter) computes it.
ImageSize ResizeShorterSide(ImageSize from, int64_t shorter);

// Resizes an image of `channels` interleaved 8-bit samples per pixel, row-major. Rows are filtered
// first, then columns, where the size changes. Each pass rounds its weights to 22 fraction bits and
// its sums to 8 bits, halves upwards, and saturates. All sizes must be at least 1.
std::vector<std::byte> ResizeImage(std::span<const std::byte> image, ImageSize from, ImageSize to,
                                   int64_t channels, Interpolation interpolation);

// Copies the centre of an image whose pixels have `pixel_bytes` bytes. An odd margin is halved to
// the nearest even number of pixels above and to the left. Where the image is smaller than `to`,
// the result has zeros around it, the odd row or column of them below and to the right.
std::vector<std::byte> CropCentre(std::span<const std::byte> image, ImageSize from, ImageSize to,
                                  int64_t pixel_bytes);

}  // namespace kiln

#endif  // KILN_FRONTEND_IMAGE_RESIZE_H_
