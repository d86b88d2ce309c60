// Windows over an image in the sizes of instructions. Convolutions, pools and user units share
// these functions.
#ifndef KILN_TARGETS_SYSTOLIC_COMPILE_LOWER_WINDOWS_H_
#define KILN_TARGETS_SYSTOLIC_COMPILE_LOWER_WINDOWS_H_

#include <cstdint>
#include <initializer_list>

#include "kiln/ir/window.h"
#include "kiln/targets/systolic/compile/view.h"
#include "kiln/targets/systolic/isa/isa.h"

namespace kiln::systolic {

// The limit of an axis, a loop or a product of such sizes. Instructions can hold larger numbers.
inline constexpr int64_t kMostCounted = 1 << 22;

// Returns whether all sizes are from 1 to kMostCounted.
bool FitsCounts(std::initializer_list<int64_t> sizes);
// Returns the same for the sizes of an axis of windows.
bool FitsCounts(const WindowAxis& axis);

// Returns whether a row of an image is short enough for the machine's input fetch: the windows and
// the padding of `x` reach over less than 2^31 bytes. A pixel has `bytes` bytes.
bool FitsRow(const WindowAxis& x, int64_t bytes);

// Returns whether the first or the last window covers nothing of the image.
bool SeesPaddingAlone(const WindowAxis& axis);

// Returns a convolution of these sizes, which must satisfy FitsCounts. Strides in memory and all
// other members keep their defaults.
Convolution ConvolutionOver(const WindowAxis& y, const WindowAxis& x, int64_t batch,
                            int64_t channels, int64_t out_channels);

// Returns the stream of a view [batch, y, x, channels]: words run along the channels, and outer
// loops 0 to 2 walk the other axes. The strides of its block scales follow the same loops.
Stream StreamOfPixels(const View& view);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_COMPILE_LOWER_WINDOWS_H_
