// Sizes of windows over an image, for convolutions, pools and user units.
#include "kiln/targets/systolic/compile/lower_windows.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kiln/targets/systolic/compile/lowering.h"
#include "kiln/targets/systolic/config/derived.h"

namespace kiln::systolic {

bool FitsCounts(std::initializer_list<int64_t> sizes) {
  return std::all_of(sizes.begin(), sizes.end(),
                     [](int64_t size) { return size >= 1 && size <= kMostCounted; });
}

bool FitsCounts(const WindowAxis& axis) {
  return FitsCounts(
      {axis.input, axis.output, axis.kernel, axis.stride, axis.dilation, axis.pad_begin + 1});
}

bool FitsRow(const WindowAxis& x, int64_t bytes) {
  const int64_t windows = SaturatingMul(x.output, x.stride) + SaturatingMul(x.kernel, x.dilation);
  return SaturatingMul(std::max({x.input, x.pad_begin, windows}), bytes) <
         int64_t{1} << (kAddressBits - 1);
}

bool SeesPaddingAlone(const WindowAxis& axis) {
  return axis.pad_begin >= axis.Extent() ||
         (axis.output - 1) * axis.stride - axis.pad_begin >= axis.input;
}

Convolution ConvolutionOver(const WindowAxis& y, const WindowAxis& x, int64_t batch,
                            int64_t channels, int64_t out_channels) {
  const auto narrow = [](int64_t size) { return static_cast<int32_t>(size); };
  Convolution c;
  c.batch = narrow(batch);
  c.height = narrow(y.input);
  c.width = narrow(x.input);
  c.channels = narrow(channels);
  c.kernel_y = narrow(y.kernel);
  c.kernel_x = narrow(x.kernel);
  c.stride_y = narrow(y.stride);
  c.stride_x = narrow(x.stride);
  c.dilation_y = narrow(y.dilation);
  c.dilation_x = narrow(x.dilation);
  c.pad_top = narrow(y.pad_begin);
  c.pad_left = narrow(x.pad_begin);
  c.out_height = narrow(y.output);
  c.out_width = narrow(x.output);
  c.out_channels = narrow(out_channels);
  return c;
}

Stream StreamOfPixels(const View& view) {
  const auto outer = [](const std::vector<int64_t>& strides) {
    return std::array<int64_t, kOuterLoops>{strides[0], strides[1], strides[2], 0};
  };
  Stream stream = StreamOf(view);
  stream.outer_stride = outer(view.strides);
  stream.element_stride = view.strides[3];
  if (view.blocked()) stream.blocks.outer_stride = outer(view.blocks.strides);
  return stream;
}

}  // namespace kiln::systolic
