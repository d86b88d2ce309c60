// Soft-max and log-soft-max over rows that are shorter than a word of the vector unit.
//
// A row of a vector instruction runs along the lanes, so rows of two elements leave all lanes but
// two idle. Here each lane holds the same element of a different row: the elements of a row become
// planes, reductions become element-wise instructions between planes, and intermediate planes are
// stored in memory in the vector format. Operations and their order are the same as in the program
// that processes one row after the other, so the bits are the same.
#ifndef KILN_TARGETS_SYSTOLIC_COMPILE_SHORT_ROWS_H_
#define KILN_TARGETS_SYSTOLIC_COMPILE_SHORT_ROWS_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kiln/targets/systolic/compile/lowering.h"

namespace kiln::systolic {

// Makes a dense view in the vector format.
using MakeView = std::function<View(const std::string& name, const Shape& shape)>;

// Returns vector instructions, in order, for `output` = soft-max (`logarithm`: log-soft-max) of
// `input` along their last axis, followed by `after` on every element. Returns nullopt for rows of
// one element, for rows that fill the lanes, and if the vector unit lacks the stages. The caller
// must find out whether this takes less time.
std::optional<std::vector<VectorSpec>> SoftmaxOfShortRows(const View& input, const View& output,
                                                          bool logarithm,
                                                          const std::vector<Stage>& after,
                                                          const Config& config,
                                                          const MakeView& make_view);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_COMPILE_SHORT_ROWS_H_
