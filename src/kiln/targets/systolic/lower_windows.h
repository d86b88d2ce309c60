// Windows over an image as instructions count them: what convolutions, pools and user units share.
#ifndef KILN_TARGETS_SYSTOLIC_LOWER_WINDOWS_H_
#define KILN_TARGETS_SYSTOLIC_LOWER_WINDOWS_H_

#include <cstdint>
#include <initializer_list>

#include "kiln/ir/window.h"
#include "kiln/targets/systolic/isa.h"
#include "kiln/targets/systolic/view.h"

namespace kiln::systolic {

// Of an axis, a loop or a product of such sizes that is counted: what instructions hold with room to spare.
inline constexpr int64_t kMostCounted = 1 << 22;

// Whether all sizes are from 1 to kMostCounted.
bool FitsCounts(std::initializer_list<int64_t> sizes);
// Likewise the sizes of an axis of windows.
bool FitsCounts(const WindowAxis& axis);

// Whether a window, the first or the last one, sees nothing of the image.
bool SeesPaddingAlone(const WindowAxis& axis);

// A convolution of these sizes, which FitsCounts; strides and everything else as they are by default.
Convolution ConvolutionOver(const WindowAxis& y, const WindowAxis& x, int64_t batch,
                            int64_t channels, int64_t out_channels);

// The stream of a view [batch, y, x, channels], a word lying along the channels: outer loops 0 to 2 walk the others,
// those of its block scales likewise.
Stream StreamOfPixels(const View& view);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_LOWER_WINDOWS_H_
