// Soft-max, and its logarithm, over rows that are shorter than a word of the vector unit.
//
// A row of a vector instruction runs along the lanes, so that rows of two elements leave all lanes but two idle. Here
// the lanes hold the same element of neighbouring rows: the elements of a row become planes, reductions become
// element-wise instructions between planes, and intermediate planes go through memory in the vector format. Every
// operation and its order is that of the program with one row after the other, so that the bits are the same.
#ifndef KILN_TARGETS_SYSTOLIC_SHORT_ROWS_H_
#define KILN_TARGETS_SYSTOLIC_SHORT_ROWS_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kiln/targets/systolic/lowering.h"

namespace kiln::systolic {

// Makes a dense view in the vector format.
using MakeView = std::function<View(const std::string& name, const Shape& shape)>;

// Vector instructions, in order, for `output` = soft-max (`logarithm`: log-soft-max) of `input` along their last axis,
// followed by `after` on every element. nullopt: rows of one element, rows that fill the lanes, or a vector unit that
// lacks the stages. Whether it takes less time is for the caller to find out.
std::optional<std::vector<VectorSpec>> SoftmaxOfShortRows(const View& input, const View& output,
                                                          bool logarithm,
                                                          const std::vector<Stage>& after,
                                                          const Config& config,
                                                          const MakeView& make_view);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SHORT_ROWS_H_
